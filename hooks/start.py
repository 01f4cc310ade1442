"""Started by run.sh with `-I -S`: finds the package beside itself and calls the hook. Nothing else.

The folder is appended, never put first: what stands in a project may not shadow the standard library.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
# In the wheel this folder lies inside the package, in the repository beside it.
parent = os.path.dirname(here)
sys.path.append(os.path.dirname(parent) if os.path.basename(parent) == "truecall_py" else parent)

from truecall_py.hook.main import main  # noqa: E402

status = main(sys.argv[1:], seal=True)
sys.stdout.flush()
os._exit(status)  # a thread that still waits for a name server must not hold the answer back
