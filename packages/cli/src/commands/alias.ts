import { command } from '../arguments/command.ts'
import { bold, cyan } from '../terminal/output.ts'
import { splitWords } from '../arguments/alias.ts'
import { catalogue, lookUp } from '../arguments/catalogue.ts'
import { changeConfig } from '../config/config-file.ts'
import { Refusal, UsageError } from '../errors.ts'

export const ls = command({
  summary: 'List your aliases',
  scope: 'nothing',
  examples: ['svc alias ls', 'svc alias ls --json'],
  async run({ config, out }) {
    const aliases = Object.entries((await config()).aliases ?? {}).map(([name, expansion]) => ({ name, expansion }))
    if (out.json) return out.document({ aliases })
    if (aliases.length === 0) return out.note("No aliases yet. Create one: svc alias set co 'cr checkout'")
    out.table(aliases, [
      { title: 'ALIAS', of: ({ name }) => cyan(name) },
      { title: 'COMMAND', of: ({ expansion }) => `svc ${expansion}`, shrink: true },
    ])
  },
})

export const set = command({
  summary: 'Define an alias for a command',
  about: ['$1 to $9 are replaced by the arguments of the alias; other arguments are appended.'],
  scope: 'nothing',
  args: {
    name: { summary: 'Name of the alias: one word that is not a command' },
    expansion: { summary: 'The quoted command, without svc' },
  },
  examples: ["svc alias set co 'cr checkout'", "svc alias set mine 'cr ls --author @me --base $1'"],
  async run({ out, configPath }, { args }) {
    const { name } = args
    if (!/^[a-z][\w-]{0,40}$/i.test(name)) throw new UsageError(`${JSON.stringify(name)} can't be the name of an alias`)
    if (lookUp(catalogue, name) !== null)
      throw new UsageError(`svc ${name} is a command already`, { next: [`svc ${name} --help`] })
    const words = splitWords(args.expansion.replace(/^svc /, ''))
    if (words[0] === undefined || lookUp(catalogue, words[0]) === null)
      throw new UsageError(`${JSON.stringify(words[0] ?? '')} is not a command`, { next: ['svc --help'] })
    const expansion = args.expansion.replace(/^svc /, '')
    await changeConfig(configPath(), (config) => ((config.aliases ??= {})[name] = expansion))
    out.done({ name, expansion }, bold(`svc ${name}`), ` is svc ${expansion}`)
  },
})

export const rm = command({
  summary: 'Remove an alias',
  scope: 'nothing',
  args: { name: { summary: 'Name of the alias' } },
  examples: ['svc alias rm co', 'svc alias rm co --json'],
  async run({ out, configPath, config }, { args: { name } }) {
    if (!Object.hasOwn((await config()).aliases ?? {}, name))
      throw new Refusal('not_found', `There is no alias ${JSON.stringify(name)}`, { next: ['svc alias ls'] })
    await changeConfig(configPath(), ({ aliases = {} }) => delete aliases[name])
    out.done({ removed: name }, 'Removed ', bold(name))
  },
})
