import { command } from '../command.ts'
import { UsageError } from '../errors.ts'

export const help = command({
  summary: 'Show help on a command',
  scope: 'nothing',
  args: { command: { summary: 'Its words, as in cr merge', names: 'command', optional: true, many: true } },
  flags: {},
  examples: ['svc help cr', 'svc help cr merge', 'svc help --json'],
  async run({ out }, { args }) {
    // Found by the one who runs commands, so that help knows the same names and makes the same guesses.
    const { findCommand } = await import('../run.ts')
    const { showHelp } = await import('../help.ts')
    const found = findCommand(args.command)
    if (found.kind !== 'unknown') return showHelp(out, found.words)
    const { resembles, unknownCommand } = await import('../unknown-command.ts')
    const { message } = await unknownCommand(found)
    throw new UsageError(message, {
      next: [
        ...resembles(found).map((words) => ['svc help', ...words].join(' ')),
        ['svc help', ...found.words].join(' '),
      ],
    })
  },
})
