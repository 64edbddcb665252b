/** Help is made from what the commands say of themselves. */
import { catalogue, type Entry, type Group, isGroup, lookUp } from './catalogue.ts'
import { type AnyCommand, type Flag, globalFlags } from './command.ts'
import { bold, cyan, dim, type Output, type Piece } from './output.ts'

export async function showHelp(out: Output, words: readonly string[]): Promise<void> {
  if (out.json) return out.document(await describe(words))
  if (words.length === 0) return rootHelp(out)
  const entry = find(words)
  if (isGroup(entry)) return groupHelp(out, words, entry)
  return commandHelp(out, words, await entry.load(), entry.aliases)
}

function find(words: readonly string[]): Entry {
  const first = lookUp(catalogue, words[0]!)![1]
  return words.length > 1 && isGroup(first) ? lookUp(first.commands, words[1]!)![1] : first
}

async function rootHelp(out: Output): Promise<void> {
  out.line(bold('svc'), ': coding agents work on real repositories; their work lands by a change request you merge')
  out.line()
  out.line(dim('Usage  '), 'svc <command> [flags]')
  out.line()
  const listed: [string, string][] = []
  for (const [name, entry] of Object.entries(catalogue)) {
    if (isGroup(entry)) listed.push([`${name} <${Object.keys(entry.commands).join('|')}>`, entry.summary])
    else listed.push([name, (await entry.load()).summary])
  }
  for (const [name, summary] of listed) {
    const [first, ...rest] = name.split(' ')
    if (rest.length === 0) out.line('  ', cyan(first!.padEnd(12)), summary)
    else {
      out.line('  ', cyan(first!.padEnd(12)), summary)
      out.line('  ', ' '.repeat(12), dim(rest.join(' ').slice(1, -1).replaceAll('|', ', ')))
    }
  }
  out.line()
  out.line(dim('Start  '), 'svc tour shows everything once; svc login signs in to a server elsewhere')
  out.line(dim('More   '), 'svc <command> --help, svc help --json')
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
    out.line('  ', cyan(usages[i]!.padEnd(width)), `  ${command.summary}`, dim(also))
  })
  out.line()
  out.line(dim('More   '), `svc ${words.join(' ')} <command> --help`)
}

function commandHelp(out: Output, words: readonly string[], command: AnyCommand, aliases: readonly string[]): void {
  const name = `svc ${words.join(' ')}`
  out.line(bold(name), `: ${command.summary}`)
  for (const paragraph of command.about ?? []) {
    out.line()
    out.line(paragraph)
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
    const pieces: Piece[] = ['  ', cyan(left.padEnd(width)), `  ${right}`]
    out.line(...pieces)
  }
}

function argWords(command: AnyCommand): string[] {
  return Object.entries(command.args).map(([name, arg]) => {
    const word = `<${name}>${arg.many ? '...' : ''}`
    return arg.optional ? `[${word}]` : word
  })
}

function flagRows(flags: Readonly<Record<string, Flag>>): [string, string][] {
  return Object.entries(flags).map(([name, flag]) => {
    const also =
      flag.kind === 'text' && flag.aliases ? ` (also ${flag.aliases.map((alias) => `--${alias}`).join(', ')})` : ''
    return [flagUsage(name, flag), flag.summary + also]
  })
}

function flagUsage(name: string, flag: Flag): string {
  if (flag.kind === 'switch') return `--${name}`
  return `--${name} <${flag.kind === 'text' ? flag.value : flag.choices.join('|')}>`
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
  if (words.length > 0) await add(words, find(words))
  else for (const [name, entry] of Object.entries(catalogue)) await add([name], entry)
  return { commands }
}
