#!/bin/sh
# `verdigris check` from outside: tools, the exit status, programs that find nothing.
#
#   command.sh VERDIGRIS PROGRAM
verdigris=$1
program=$2
failed=0

# expect STATUS TEXT ARGUMENTS...: the command must end so and say so.
expect() {
  status=$1
  text=$2
  shift 2
  said=$("$verdigris" check "$@" 2>&1)
  ended=$?
  [ $ended -eq "$status" ] || { echo "check $*: exit status $ended, not $status"; failed=1; }
  printf '%s\n' "$said" | grep -q -- "$text" || { echo "check $*: no '$text' in"; echo "$said"; failed=1; }
}

expect 1 'race: a thread' "$program" withinWarp
expect 1 '1 fault, met 32 times' --tools race "$program" withinWarp
expect 0 '0 faults' --tools memory,sync,init "$program" withinWarp
expect 5 'memory: a store' --exit-code 5 "$program" storeBehind
expect 0 'memory: a store' --exit-code 0 "$program" storeBehind
expect 0 '0 faults' "$program" noSuchCase
expect 2 'no tool' --tools nonsense "$program" withinWarp
expect 127 'cannot run' ./no-such-program

# What is left out, and how much is told.
rules=$(mktemp)
printf '# known\nrace: *in kernel withinWarp(*\n' > "$rules"
expect 0 '1 other was left out' --tools race --suppressions "$rules" "$program" withinWarp
printf 'memory: *\nno such pattern\n' > "$rules"
expect 1 '1 fault, met 32 times' --tools race --suppressions "$rules" "$program" withinWarp
rm -f "$rules"
expect 0 '0 faults' --tools race --kernels 'other*,*Behind*' "$program" withinWarp
expect 1 '1 fault' --tools race --kernels 'within*' "$program" withinWarp
expect 2 'expected a number' --limit many "$program" withinWarp
"$verdigris" check --tools race --limit 0 "$program" withinWarp 2>&1 | grep -q 'by thread' && {
  echo "check --limit 0: records are told of all the same"
  failed=1
}
exit $failed
