#!/bin/sh
# Written by `truecall install cline`, taken away by `truecall uninstall cline`.
TRUECALL_PYTHON='/path/to/python' '/path/to/hooks/run.sh' cline PostToolUse --state '/path/to/state'
