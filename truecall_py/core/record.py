"""`@record(frozen=True)`: the part of `dataclasses.dataclass` that truecall uses, without its import cost. The type
checker sees the real one, so this one must not offer more."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    # dataclasses costs more than a whole bare interpreter's start (it imports re, inspect, ...), and this
    # module is on the path of every tool call. The decorator below is the part of it that is used here.
    def record(frozen):
        def decorate(cls):
            names = tuple(cls.__annotations__)
            defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

            def __init__(self, *values, **named):
                if len(values) > len(names):
                    raise TypeError(f"{cls.__name__} takes {len(names)} values")
                fields = dict(defaults)
                fields.update(zip(names, values))  # noqa: B905 - too many values were refused above
                for name in named:
                    if name not in names:
                        raise TypeError(f"{cls.__name__} has no field {name!r}")
                fields.update(named)
                missing = [name for name in names if name not in fields]
                if missing:
                    raise TypeError(f"{cls.__name__} is missing {', '.join(missing)}")
                self.__dict__.update(fields)

            def __setattr__(self, name, value):
                raise AttributeError(f"{cls.__name__} is immutable")

            def __repr__(self):
                inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
                return f"{cls.__name__}({inside})"

            def __eq__(self, other):
                return type(other) is cls and self.__dict__ == other.__dict__

            cls.__init__, cls.__setattr__, cls.__repr__, cls.__eq__ = __init__, __setattr__, __repr__, __eq__
            cls.__hash__ = lambda self: hash(tuple(self.__dict__.get(name) for name in names))
            return cls

        return decorate

__all__ = ["record"]
