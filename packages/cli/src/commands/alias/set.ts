import { splitWords } from '../../arguments/alias.ts'
import { catalogue, lookUp } from '../../arguments/catalogue.ts'
import { command } from '../../arguments/command.ts'
import { changeConfig } from '../../config/config-file.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'

export const set = command({
  summary: 'Define an alias for a command',
  about: ['$1 to $9 are replaced by the arguments of the alias; other arguments are appended.'],
  scope: 'nothing',
  args: {
    name: { summary: 'Name of the alias: one word that is not a command' },
    expansion: { summary: 'The quoted command, without svc' },
  },
  examples: ["svc alias set co 'cr checkout'", "svc alias set mine 'cr ls --author @me --base $1'"],
  async run(ctx, { args }) {
    const { name } = args
    if (!/^[a-z][\w-]{0,40}$/i.test(name)) throw new UsageError(`${JSON.stringify(name)} can't be the name of an alias`)
    if (lookUp(catalogue, name) !== null)
      throw new UsageError(`svc ${name} is a command already`, { next: [`svc ${name} --help`] })
    const words = splitWords(args.expansion.replace(/^svc /, ''))
    if (words[0] === undefined || lookUp(catalogue, words[0]) === null)
      throw new UsageError(`${JSON.stringify(words[0] ?? '')} is not a command`, { next: ['svc --help'] })
    const expansion = args.expansion.replace(/^svc /, '')
    await changeConfig(ctx.configPath(), (config) => ((config.aliases ??= {})[name] = expansion))
    ctx.out.done({ name, expansion }, bold(`svc ${name}`), ` is svc ${expansion}`)
  },
})
