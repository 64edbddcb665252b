import { closest } from '@svc/contract/schemas/closest'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import { version as current } from '../../config/build-values.ts'
import { UsageError } from '../../errors.ts'
import { green } from '../../terminal/output.ts'

export const version = command({
  summary: 'Print the version of this client',
  scope: 'nothing',
  examples: ['svc version', 'svc --version'],
  async run({ out }) {
    if (out.json) out.document({ version: current })
    else out.line(current)
  },
})

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

export const completion = command({
  summary: 'Print the completion script of a shell: bash, zsh or fish',
  about: [
    'Completes commands, flags, and the names of change requests, sessions, projects and hosts.',
    'bash: source <(svc completion bash) in ~/.bashrc',
    'zsh:  source <(svc completion zsh) in ~/.zshrc, after compinit',
    'fish: svc completion fish > ~/.config/fish/completions/svc.fish',
  ],
  scope: 'nothing',
  args: { shell: { summary: 'bash, zsh or fish', names: 'shell' } },
  examples: ['source <(svc completion bash)', 'svc completion fish > ~/.config/fish/completions/svc.fish'],
  async run({ out }, { args }) {
    const { scripts } = await import('../../completion/scripts.ts')
    const script = Object.hasOwn(scripts, args.shell) ? scripts[args.shell as keyof typeof scripts] : null
    if (script === null) {
      const meant = closest(args.shell, Object.keys(scripts))
      throw new UsageError(`There is no completion for ${JSON.stringify(args.shell)}`, {
        hint: 'Completion supports bash, zsh and fish.',
        next: [`svc completion ${meant ?? 'bash'}`],
      })
    }
    if (out.json) out.document({ shell: args.shell, script })
    else out.raw(script)
  },
})

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
