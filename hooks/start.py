"""Started by run.sh with `-I -S`: finds the package beside itself and calls the hook. Nothing else.

The folder is appended, never put first: what stands in a project may not shadow the standard library. The package's
modules are found by their names, without listing a folder a room, which would cost the hook 5 % more; whatever is not
found that way is left to Python's own finder.
"""

import _frozen_importlib_external as importer
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
# In the wheel this folder lies inside the package, in the repository beside it.
parent = os.path.dirname(here)
root = os.path.dirname(parent) if os.path.basename(parent) == "truecall_py" else parent
sys.path.append(root)


class RoomFinder:
    """Finds `truecall_py.room` and `truecall_py.room.module` under `root`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("truecall_py"):
            return None
        base = f"{root}/{name.replace('.', '/')}"
        candidates = (f"{base}.py", None), (f"{base}/__init__.py", [base])
        for file, folders in candidates if name.count(".") > 1 else candidates[::-1]:
            try:
                os.stat(file)
            except OSError:
                continue
            loader = importer.SourceFileLoader(name, file)
            return importer.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)
        return None


sys.meta_path.insert(0, RoomFinder)

from truecall_py.hook.main import main  # noqa: E402

status = main(sys.argv[1:], seal=True)
sys.stdout.flush()
os._exit(status)  # a thread that still waits for a name server must not hold the answer back
