"""How the page looks: two sets of colours, and one style sheet for screens of any width and for paper. Knows nothing
of what is on the page, and loads nothing: the fonts are the system's own."""

from __future__ import annotations

# name: (light, dark). Every colour of STATES, and ink and muted, is read as text on both grounds (WCAG 2.2, AA).
GROUNDS = {"paper": ("#faf9f6", "#15171b"), "card": ("#ffffff", "#1d2026")}
INKS = {"ink": ("#1f2328", "#e8e6e1"), "muted": ("#5b6370", "#a6adb8"), "accent": ("#1d5fa8", "#8ab8f5")}
LINES = {"line": ("#e4e1da", "#333840"), "soft": ("#f1efea", "#262a31")}
STATES = {
    "lie": ("#b3261e", "#ff8f86"), "refuted": ("#a04a00", "#f2a65e"), "unverified": ("#7a5c00", "#e3c565"),
    "pending": ("#1d5fa8", "#8ab8f5"), "refused": ("#6d3fa3", "#c9a9f7"), "verified": ("#13694a", "#6fd3a7"),
    "none": ("#626a76", "#9aa2ae"),
}  # fmt: skip
COLOURS = {**GROUNDS, **INKS, **LINES, **STATES}


def render_tokens(which: int) -> str:
    return "".join(f"--{name}:{colours[which]};" for name, colours in COLOURS.items())


def render_sheet() -> str:
    """The whole style sheet."""
    states = "".join(f".{name}{{--tone:var(--{name})}}" for name in STATES)
    return (
        f":root{{color-scheme:light dark;{render_tokens(0)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{render_tokens(1)}}}}}{states}{RULES}"
    )


RULES = r"""
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;overflow-wrap:anywhere;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;font-size:16px}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em;
white-space:pre-wrap}
header,main,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
h1,h2,h3,h4{line-height:1.25;margin:0;font-weight:650;letter-spacing:-.01em}
h1{font-size:clamp(1.6rem,4vw,2.2rem)}
h2{font-size:1.3rem;margin:3.25rem 0 .35rem}
h3{font-size:1.02rem}
h4{font-size:.9rem}
p{margin:.35rem 0}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent);outline-offset:3px;border-radius:3px}
.muted,caption,figcaption,.lead{color:var(--muted)}
.lead{margin:0 0 1.1rem;max-width:44rem}
.brand{font-size:.85rem;font-weight:650;color:var(--muted);letter-spacing:.02em}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.35rem 1.25rem;padding:0;margin:1.25rem 0 0}
.card,.session,.lie-card,figure{background:var(--card);border:1px solid var(--line);border-radius:12px;
padding:1.15rem 1.25rem;margin:0}
.cards{display:grid;gap:1rem;grid-template-columns:repeat(3,minmax(0,1fr))}
.hero{grid-column:span 2}
.card h3{font-size:.9rem;font-weight:600;color:var(--muted)}
.card .number{font-size:1.75rem;font-weight:650;letter-spacing:-.02em;line-height:1.25;margin:.3rem 0 .1rem;
font-variant-numeric:tabular-nums}
.card.hero .number{font-size:2.6rem}
.card.hero .bar{height:14px;margin:.7rem 0 .6rem}
.card .number.quiet{font-size:1.15rem;color:var(--muted);font-weight:500;letter-spacing:0;padding:.35rem 0 .3rem}
.tone{color:var(--tone)}
.card details,.card p{font-size:.9rem}
summary{cursor:pointer}
.card summary{color:var(--muted);margin-top:.5rem}
dl{margin:.5rem 0;display:grid;grid-template-columns:fit-content(11rem) minmax(0,1fr);gap:.3rem .9rem}
dt{min-width:5.5rem;color:var(--muted);font-size:.875rem}
dd{margin:0;min-width:0}
.card dl{grid-template-columns:minmax(0,1fr);gap:.1rem}
.card dd{margin-bottom:.35rem}
.plots{margin-top:.9rem;display:grid;gap:1rem;grid-template-columns:repeat(2,minmax(0,1fr));align-items:start}
.plots figure:first-child{grid-column:1/-1}
figure{min-width:0}
figcaption{font-size:.875rem;margin:.15rem 0 .75rem}
figcaption h3{color:var(--ink);font-size:1rem}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:0 0 .6rem;font-size:.82rem;
color:var(--muted)}
.key{display:inline-block;width:.7rem;height:.7rem;margin-right:.4rem;vertical-align:-.05em}
.wide{overflow-x:auto;overscroll-behavior-x:contain}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{text-align:right;padding:.45rem 0 .45rem .9rem;vertical-align:top;border-top:1px solid var(--line);
white-space:nowrap;overflow-wrap:normal}
thead th{border-top:0;color:var(--muted);font-weight:500;padding-top:0}
th:first-child{text-align:left;padding-left:0;width:100%;min-width:11rem;font-weight:500;white-space:normal;
overflow-wrap:anywhere}
svg{display:block;overflow:visible}
.bar{margin-top:.4rem;width:100%;height:10px;border-radius:3px;overflow:hidden}
.bar .ground{fill:var(--soft)}
.fill{fill:var(--tone)}
.bar .fill{stroke:var(--card);stroke-width:1.5}
.mark{fill:var(--tone);stroke:var(--card);stroke-width:1}
.mark.ring{fill:var(--card);stroke:var(--tone);stroke-width:2}
.mark.cross{fill:none;stroke:var(--tone);stroke-width:2.5}
.span{stroke:var(--tone);stroke-width:2;opacity:.55}
.lane{stroke:var(--line)}
.badge{display:inline-block;color:var(--tone);border:1px solid currentColor;border-radius:99px;padding:0 .6em;
font-size:.78rem;font-weight:600;line-height:1.6;white-space:nowrap}
.lie-card{margin-top:1rem;border-left:4px solid var(--tone)}
.lie-card header,.session header{padding:0;margin:0 0 .6rem;max-width:none}
.lie-card header{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem .6rem}
.lie-card h3{font-weight:600;width:100%}
.lie-card .found{color:var(--tone);font-weight:600}
.lie-card .muted,.session .muted{font-size:.875rem}
.facts dd,.facts dt{padding-top:.1rem}
.quote{white-space:pre-wrap;overflow:clip}
.steps{margin:0;padding-left:1.15rem}
.session{margin-top:1rem}
.strip{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:0 1.1rem;margin:.9rem 0 .2rem;
font-size:.78rem;color:var(--muted)}
.lanes{display:grid;grid-template-rows:repeat(3,24px);line-height:24px}
.plane{padding:0 8px}
.strip svg.all{width:100%;height:72px}
.axis{grid-column:2;display:flex;justify-content:space-between;gap:1rem;padding:.15rem 8px 0;
border-top:1px solid var(--line)}
.calls{font-size:.94rem;list-style:none;padding:0;margin:1rem 0 0}
.calls>li{position:relative;border-left:2px solid var(--line);padding:.3rem 0 .3rem 1.1rem;margin-left:.35rem}
.calls>li::before{content:"";position:absolute;left:-6px;top:.88rem;width:10px;height:10px;border-radius:50%;
background:var(--tone,var(--line));border:2px solid var(--card)}
.calls>li:target{background:var(--soft);border-radius:0 8px 8px 0}
.line{display:flex;flex-wrap:wrap;gap:.1rem .75rem;align-items:baseline;padding:.15rem 0}
summary.line{list-style:none}
summary.line::-webkit-details-marker{display:none}
.line time{color:var(--muted);font-size:.82rem;font-variant-numeric:tabular-nums}
.line .about{flex:1 1 12rem;min-width:0;color:var(--muted);overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.line .about code{white-space:nowrap}
summary.line::after{content:"\203A";color:var(--muted);margin-left:auto;line-height:1;transition:transform .15s}
details[open]>summary.line::after{transform:rotate(90deg)}
summary.line:hover .tool{text-decoration:underline;text-underline-offset:.2em}
details[open]>summary .about{display:none}
.inside{padding:.3rem 0 .7rem}
.verdict{border-left:3px solid var(--tone);padding:.15rem 0 .15rem .8rem;margin:.6rem 0}
.gone{margin:.9rem 0 0;padding:.7rem .9rem;background:var(--soft);border-radius:8px;font-size:.9rem}
.gone,.gone .muted{color:var(--ink)}
footer{padding-top:3rem;padding-bottom:4rem;color:var(--muted);font-size:.875rem}
.skip{position:absolute;left:-200vw}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem .8rem;z-index:1}
@media (max-width:52rem){.cards{grid-template-columns:repeat(2,minmax(0,1fr))}
.plots{grid-template-columns:minmax(0,1fr)}}
@media (max-width:36rem){
thead th{white-space:normal;vertical-align:bottom}
th:first-child{min-width:8rem}
.cards{grid-template-columns:minmax(0,1fr)}
.hero{grid-column:auto}
header,main,footer{padding-left:1rem;padding-right:1rem}
header{padding-top:1.75rem}
.card,.session,.lie-card,figure{padding:1rem}
.facts{grid-template-columns:minmax(0,1fr);gap:.1rem}
.facts dd{margin-bottom:.55rem}
th,td{padding-left:.7rem}
th:first-child{min-width:8.5rem}
.line .about{flex-basis:100%;order:1}
}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}summary.line::after{transition:none}}
@media print{
body{font-size:11pt;background:none}
nav,.skip{display:none}
.card,.lie-card,figure,.verdict,tr{break-inside:avoid}
h2,h3,h4{break-after:avoid}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
details::details-content{content-visibility:visible;display:block;height:auto}
.wide{overflow:visible}
}
"""
