"""Started by run.sh with `-I -S`: finds the package beside this file and calls the hook.

The folder is appended to sys.path, never put first, so that a project cannot shadow the standard library. RoomFinder
locates modules by name without listing their folders, which would cost the hook 5 % more. Python's own finder gets
the rest.
"""

import _frozen_importlib_external as importer
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
# The wheel has this folder inside the package, the repository beside it.
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
os._exit(status)  # do not wait for a thread that still waits for a name server
