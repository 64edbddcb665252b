/**
 * The shell of the agent's commands. The runtime takes a shell that a signal ended for one that still runs, until the
 * command's time limit, and then reports that limit to the agent. A command such as `pkill -f server` ends its own
 * shell that way. So each command gets a second shell above its own, which reports how that one ended.
 *
 * The runtime also waits until every process has closed the output of a command, its time limit notwithstanding. A
 * program left in the background would keep the turn busy for as long as it runs. So commands write into a pipe of the
 * upper shell, which forwards it. When the command has ended and others still hold the pipe, forwarding ends.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const shells = ['/bin/bash', '/bin/sh']

/** The runtime starts it as `-c <command>`. Every other use, such as a terminal, gets the plain shell. */
const script = (shell: string) => `#!/bin/sh
if [ $# = 2 ] && [ "$1" = -c ]; then
  # The arguments of the upper shell must not contain the command, or pkill -f would find it, too.
  SVC_SHELL_COMMAND=$2 exec /bin/sh "$0"
fi
[ -n "\${SVC_SHELL_COMMAND+set}" ] || exec ${shell} "$@"
command=$SVC_SHELL_COMMAND
unset SVC_SHELL_COMMAND
# The runtime signals the whole process group. The upper shell then waits for the lower one, which gets the default.
trap : HUP INT QUIT TERM

# Runs apart from the signals of the group: what the lower shell prints last must arrive.
copy() {
  trap '' HUP INT QUIT TERM
  exec cat <&4 4<&- 5>&- 6>&-
}

# Finds a process that prints into the pipe. All descriptors of all processes would take too long for every command.
find_holder() {
  for output in /proc/[0-9]*/fd/1 /proc/[0-9]*/fd/2; do
    [ "$output" -ef /proc/$$/fd/4 ] && return
  done
  return 1
}

forward=
pipe=\${TMPDIR:-/tmp}/.svc-command-$$
if mkfifo -m 600 "$pipe" 2>/dev/null; then
  # Opened for both directions first, or each end would wait for the other one.
  exec 3<>"$pipe" 4<"$pipe" 5>"$pipe" 6>"$pipe" 3>&-
  rm -f "$pipe"
  copy &
  forward=$!
else
  # Without a file system that takes the pipe, the command has the output of the runtime.
  exec 5>&1 6>&2
fi
${shell} -c "$command" >&5 2>&6 4<&- 5>&- 6>&-
code=$?
exec 5>&- 6>&-

# A signal interrupts wait.
while [ -n "$forward" ] && kill -0 $forward 2>/dev/null; do
  # Programs that end with the command get a second to print the rest.
  if find_holder && sleep 1 && find_holder; then
    # A pipe without a reader would end the program at its next output.
    copy >/dev/null 2>&1 &
    kill -9 $forward
    forward=
    process=\${output#/proc/}
    note="The command ended; process \${process%%/*}, which it started in the background, still runs and holds its output"
    note="$note open. Its output is discarded from here on. Redirect the output of background processes to a file."
    echo "[$note]" >&2
  else
    wait $forward
  fi
done
# Exit codes above 128 may be the command's own, as 129 is of git. These are hardly ever.
case $code in 134 | 135 | 136 | 137 | 139 | 141 | 143)
  note="Signal $((code - 128)) ended this command; exit code $code."
  case $command in *pkill*) note="$note pkill -f also finds the shell that runs it." ;; esac
  echo "[$note]" >&2
  ;;
esac
exit $code
`

/** Returns the path of the shell. The runtime chooses by its name how it describes the shell to the agent. */
export function writeCommandShell(runtimeDir: string): string {
  const shell = shells.find((path) => existsSync(path)) ?? shells[0]!
  const path = join(runtimeDir, 'shell', shell.slice(shell.lastIndexOf('/') + 1))
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  writeFileSync(path, script(shell), { mode: 0o755 })
  return path
}
