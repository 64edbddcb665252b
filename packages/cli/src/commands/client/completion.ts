import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { closest } from '@svc/contract/schemas/closest'

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
