import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { green } from '../../terminal/output.ts'

export const man = command({
  summary: 'Print the manual page of a command, or write all of them',
  about: [
    'svc man cr merge | man -l - shows one. With --out they are written as svc.1, svc-cr.1, svc-cr-merge.1 and so on.',
  ],
  scope: 'nothing',
  args: { command: { summary: 'The command, such as cr merge', names: 'command', optional: true, many: true } },
  flags: { out: { kind: 'text', summary: 'Write every page into this folder', value: 'folder', names: 'file' } },
  examples: ['svc man cr merge', 'svc man --out ~/.local/share/man/man1'],
  async run({ io, out }, { args, flags }) {
    const { manualPage, manualPages } = await import('../../arguments/manual.ts')
    if (flags.out !== undefined) {
      const folder = resolve(io.cwd, flags.out)
      await mkdir(folder, { recursive: true })
      const pages = await manualPages()
      for (const [name, text] of pages) await writeFile(join(folder, `${name}.1`), text)
      if (out.json) return out.document({ folder, pages: pages.map(([name]) => name) })
      return out.line(green('✓ '), `Wrote ${pages.length} pages to ${folder}`)
    }
    const { findCommand } = await import('../../run.ts')
    const found = findCommand(args.command)
    if (found.kind === 'unknown') {
      const { unknownCommand } = await import('../../arguments/unknown-command.ts')
      throw new UsageError((await unknownCommand(found)).message, { next: ['svc man', 'svc help'] })
    }
    const page = await manualPage(found.words)
    if (out.json) out.document({ page })
    else out.raw(page)
  },
})
