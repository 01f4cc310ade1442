"""The page that `truecall report` writes: one file of HTML without a script, a picture or a link that leads out of
it. What comes from a ledger goes through `markup.escape_text` or it does not get onto the page."""
