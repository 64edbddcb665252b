/**
 * The shell of the agent's commands. The runtime takes a shell that a signal ended for one that still runs, until the
 * command's time limit, and then reports that limit to the agent. A command such as `pkill -f server` ends its own
 * shell that way. So each command gets a second shell above its own, which reports how that one ended.
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
${shell} -c "$command"
code=$?
if [ $code -gt 128 ] && [ $code -lt 160 ]; then
  note="Signal $((code - 128)) ended this command; exit code $code."
  case $command in *pkill*) note="$note pkill -f also finds the shell that runs it." ;; esac
  echo "[$note]" >&2
fi
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
