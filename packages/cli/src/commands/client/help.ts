import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'

export const help = command({
  summary: 'Show help on a command',
  scope: 'nothing',
  args: { command: { summary: 'The command, such as cr merge', names: 'command', optional: true, many: true } },
  examples: ['svc help cr', 'svc help cr merge', 'svc help --json'],
  async run({ out }, { args }) {
    // Uses the look-up of run.ts, so that help knows the same aliases and makes the same suggestions.
    const { findCommand } = await import('../../run.ts')
    const { showHelp } = await import('../../arguments/help.ts')
    const found = findCommand(args.command)
    if (found.kind !== 'unknown') return showHelp(out, found.words)
    const { resembles, unknownCommand } = await import('../../arguments/unknown-command.ts')
    const { message } = await unknownCommand(found)
    throw new UsageError(message, {
      next: [
        ...resembles(found).map((words) => ['svc help', ...words].join(' ')),
        ['svc help', ...found.words].join(' '),
      ],
    })
  },
})
