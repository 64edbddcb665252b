import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'
import { crArg, changeRequestAt } from './find.ts'

export const edit = command({
  summary: 'Change title and description of a change request',
  about: ['Without a flag, opens your editor (VISUAL, EDITOR) on a terminal.'],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    title: { kind: 'text', summary: 'The new title', value: 'text', short: 't' },
    description: {
      kind: 'text',
      summary: 'The new description; - reads stdin',
      value: 'text',
      aliases: ['body'],
      short: 'b',
    },
  },
  examples: ['svc cr edit 3 --title "Greet visitors"', 'svc cr edit @ --body -'],
  async run(ctx, { args, flags }) {
    const given = {
      ...(flags.title === undefined ? {} : { title: flags.title }),
      ...(flags.description === undefined
        ? {}
        : { description: await valueOrStdin(ctx.io, flags.description, 'the description') }),
    }
    const isGiven = Object.keys(given).length > 0
    if (!isGiven && !ctx.interactive)
      throw new UsageError('Missing --title or --description', {
        next: ["svc cr edit <cr> --title '<text>'", 'svc cr edit <cr> --body -'],
      })
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const body = isGiven ? given : await written(ctx, cr)
    const edited = await at.patch('', { body })
    ctx.out.done(edited, 'Edited ', bold(`#${edited.number} ${edited.title}`))
  },
})

async function written(
  ctx: Parameters<typeof changeRequestAt>[0],
  cr: { title: string; description: string },
): Promise<{ title: string; description: string }> {
  const editor = await import('../../terminal/editor.ts')
  const text = await editor.edit(ctx, `${cr.title}\n\n${cr.description}`, 'First line: title. Below: description.')
  return editor.titleAndDescription(text)
}
