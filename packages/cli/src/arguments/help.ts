/** Help, generated from the definitions of the commands. */
import { catalogue, type Entry, type Group, entryOf, isGroup } from './catalogue.ts'
import { aliasesOf, type AnyCommand, type Flag, globalFlags } from './command.ts'
import { bold, cyan, dim, type Output, type Piece } from '../terminal/output.ts'
import { wrap } from '../terminal/wrap.ts'

const widest = 100

export async function showHelp(out: Output, words: readonly string[]): Promise<void> {
  if (out.json) return out.document(await describe(words))
  if (words.length === 0) return rootHelp(out)
  const entry = entryOf(words)
  if (isGroup(entry)) return groupHelp(out, words, entry)
  return commandHelp(out, words, await entry.load(), entry.aliases)
}

async function rootHelp(out: Output): Promise<void> {
  out.line(bold('svc'), ': coding agents work on real repositories and deliver their work as change requests')
  out.line()
  out.line(dim('Usage  '), 'svc <command> [flags]')
  out.line()
  for (const [title, names] of chapters()) {
    out.line(dim(title))
    for (const name of names) await rootRow(out, name)
    out.line()
  }
  out.line(dim('Start  '), 'svc tour shows everything once; svc login signs in to a server elsewhere')
  out.line(dim('More   '), 'svc <command> --help, svc help --json')
}

async function rootRow(out: Output, name: string): Promise<void> {
  const entry = catalogue[name]!
  const column = 14
  const summary = isGroup(entry) ? entry.summary : (await entry.load()).summary
  const verbs = isGroup(entry) ? Object.keys(entry.commands).join(', ') : ''
  const [first, ...more] = wrap(summary, widthOf(out) - column)
  out.line('  ', cyan(name.padEnd(column - 2)), first!)
  for (const line of more) out.line(' '.repeat(column), line)
  if (verbs !== '') for (const line of wrap(verbs, widthOf(out) - column)) out.line(' '.repeat(column), dim(line))
}

/** Chapters in the order a newcomer needs them; unlisted commands go into the last one. */
function chapters(): [string, string[]][] {
  const named: [string, string[]][] = [
    ['Work', ['inbox', 'status', 'sessions', 'cr', 'branches', 'compare', 'file', 'ship', 'tour']],
    [
      'Project',
      'init projects secrets env triggers apps channels connectors events webhooks manifest settings'.split(' '),
    ],
    ['Account', ['login', 'logout', 'whoami', 'members', 'tokens', 'password', 'browsers', 'audit', 'usage']],
    [
      'Servers and this client',
      ['hosts', 'self-host', 'api', 'alias', 'completion', 'man', 'update', 'uninstall', 'version', 'help'],
    ],
  ]
  const known = Object.keys(catalogue)
  const left = known.filter((name) => !named.some(([, names]) => names.includes(name)))
  named.at(-1)![1].push(...left)
  return named.map(([title, names]) => [title, names.filter((name) => known.includes(name))])
}

async function groupHelp(out: Output, words: readonly string[], group: Group): Promise<void> {
  out.line(bold(`svc ${words.join(' ')}`), `: ${group.summary}`)
  out.line()
  const commands = await Promise.all(
    Object.entries(group.commands).map(async ([name, leaf]) => ({ name, leaf, command: await leaf.load() })),
  )
  const usages = commands.map(({ name, command }) => [name, ...argWords(command)].join(' '))
  const width = Math.max(...usages.map((usage) => usage.length))
  commands.forEach(({ leaf, command }, i) => {
    const also = leaf.aliases.length === 0 ? '' : `  (also ${leaf.aliases.join(', ')})`
    const [first, ...more] = wrap(command.summary, widthOf(out) - width - 4)
    out.line('  ', cyan(usages[i]!.padEnd(width)), `  ${first}`, more.length === 0 ? dim(also) : '')
    more.forEach((line, n) => out.line(' '.repeat(width + 4), line, n === more.length - 1 ? dim(also) : ''))
  })
  out.line()
  out.line(dim('More   '), `svc ${words.join(' ')} <command> --help`)
}

function commandHelp(out: Output, words: readonly string[], command: AnyCommand, aliases: readonly string[]): void {
  const name = `svc ${words.join(' ')}`
  out.line(bold(name), `: ${command.summary}`)
  for (const paragraph of command.about ?? []) {
    out.line()
    for (const line of wrap(paragraph, widthOf(out))) out.line(line)
  }
  out.line()
  const hasFlags = Object.keys(command.flags).length > 0
  const required = Object.entries(command.flags)
    .filter(([, flag]) => flag.kind === 'text' && flag.required)
    .map(([flagName, flag]) => flagUsage(flagName, flag))
  out.line(dim('Usage  '), [name, ...argWords(command), ...required, ...(hasFlags ? ['[flags]'] : [])].join(' '))
  if (aliases.length > 0)
    out.line(dim('Alias  '), aliases.map((alias) => ['svc', ...words.slice(0, -1), alias].join(' ')).join(', '))
  const rows: [string, string][] = [
    ...Object.entries(command.args).map(([arg, { summary }]): [string, string] => [`<${arg}>`, summary]),
    ...flagRows(command.flags),
  ]
  if (rows.length > 0) section(out, rows)
  out.line()
  out.line(dim('Global flags'))
  section(out, flagRows(globalFlags(command.scope)), false)
  out.line()
  out.line(dim('Examples'))
  for (const example of command.examples) out.line(dim('  $ '), example)
}

function section(out: Output, rows: readonly (readonly [string, string])[], spaced = true): void {
  if (spaced) out.line()
  const width = Math.max(...rows.map(([left]) => left.length))
  for (const [left, right] of rows) {
    const [first, ...more] = wrap(right, widthOf(out) - width - 4)
    const pieces: Piece[] = ['  ', cyan(left.padEnd(width)), `  ${first}`]
    out.line(...pieces)
    for (const line of more) out.line(' '.repeat(width + 4), line)
  }
}

/** A pipe has no width, and lines of two hundred characters are hard to read on a terminal. */
function widthOf(out: Output): number {
  return out.terminal ? Math.min(out.width, widest) : Infinity
}

export function argWords(command: AnyCommand): string[] {
  return Object.entries(command.args).map(([name, arg]) => {
    const word = `<${name}>${arg.many ? '...' : ''}`
    return arg.optional ? `[${word}]` : word
  })
}

export function flagRows(flags: Readonly<Record<string, Flag>>): [string, string][] {
  return Object.entries(flags).map(([name, flag]) => {
    const aliases = aliasesOf(flag)
    const also = aliases.length > 0 ? ` (also ${aliases.map((alias) => `--${alias}`).join(', ')})` : ''
    return [flagUsage(name, flag), flag.summary + also]
  })
}

function flagUsage(name: string, flag: Flag): string {
  const short = flag.short === undefined || flag.short === 'h' ? '' : `-${flag.short}, `
  if (flag.kind === 'switch') return `${short}--${name}${flag.value === undefined ? '' : ` [<${flag.value}>]`}`
  return `${short}--${name} <${flag.kind === 'choice' ? flag.choices.join('|') : flag.value}>`
}

interface Described {
  command: string
  summary: string
  aliases: readonly string[]
  args: { name: string; summary: string; optional: boolean; many: boolean }[]
  flags: ({ name: string } & Flag)[]
  examples: readonly string[]
}

async function describe(words: readonly string[]): Promise<{ commands: Described[] }> {
  const commands: Described[] = []
  const add = async (path: readonly string[], entry: Entry): Promise<void> => {
    if (isGroup(entry)) {
      for (const [name, leaf] of Object.entries(entry.commands)) await add([...path, name], leaf)
      return
    }
    const command = await entry.load()
    commands.push({
      command: `svc ${path.join(' ')}`,
      summary: command.summary,
      aliases: entry.aliases,
      args: Object.entries(command.args).map(([name, arg]) => ({
        name,
        summary: arg.summary,
        optional: arg.optional === true,
        many: arg.many === true,
      })),
      flags: Object.entries({ ...command.flags, ...globalFlags(command.scope) }).map(([name, flag]) =>
        Object.assign({ name }, flag),
      ),
      examples: command.examples,
    })
  }
  if (words.length > 0) await add(words, entryOf(words))
  else for (const [name, entry] of Object.entries(catalogue)) await add([name], entry)
  return { commands }
}
