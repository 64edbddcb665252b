import { splitWords } from '../../alias.ts'
import { catalogue, lookUp } from '../../catalogue.ts'
import { command } from '../../command.ts'
import { changeConfig } from '../../config-file.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../output.ts'

export const set = command({
  summary: 'Name a command of your own',
  about: ['$1 to $9 stand for the arguments of the alias; arguments that none of them takes go to the end.'],
  scope: 'nothing',
  args: {
    name: { summary: 'One word that is no command yet' },
    expansion: { summary: 'The command without svc, in quotes' },
  },
  flags: {},
  examples: ["svc alias set co 'cr checkout'", "svc alias set mine 'cr ls --author @me --base $1'"],
  async run(ctx, { args }) {
    const { name } = args
    if (!/^[a-z][\w-]{0,40}$/i.test(name)) throw new UsageError(`${JSON.stringify(name)} cannot name an alias`)
    if (lookUp(catalogue, name) !== null)
      throw new UsageError(`svc ${name} is a command already`, { next: [`svc ${name} --help`] })
    const words = splitWords(args.expansion.replace(/^svc /, ''))
    if (words[0] === undefined || lookUp(catalogue, words[0]) === null)
      throw new UsageError(`${JSON.stringify(words[0] ?? '')} is no command`, { next: ['svc --help'] })
    const expansion = args.expansion.replace(/^svc /, '')
    await changeConfig(ctx.configPath(), (config) => ((config.aliases ??= {})[name] = expansion))
    if (ctx.out.json) return ctx.out.document({ name, expansion })
    ctx.out.line(green('✓ '), bold(`svc ${name}`), ` is svc ${expansion}`)
  },
})
