/** Manual pages in roff, from what the commands say of themselves. */
import { catalogue, type Entry, isGroup, lookUp } from './catalogue.ts'
import { type AnyCommand, globalFlags } from './command.ts'
import { argWords, flagRows } from './help.ts'
import { version } from './build-values.ts'

/** Every page by its name: `svc`, `svc-cr`, `svc-cr-merge`. */
export async function manualPages(): Promise<[string, string][]> {
  const paths: string[][] = [[]]
  for (const [name, entry] of Object.entries(catalogue)) {
    paths.push([name])
    if (isGroup(entry)) paths.push(...Object.keys(entry.commands).map((verb) => [name, verb]))
  }
  return Promise.all(paths.map(async (words): Promise<[string, string]> => [nameOf(words), await manualPage(words)]))
}

/** `words` is a command, a group, or nothing for the program. */
export async function manualPage(words: readonly string[]): Promise<string> {
  const [first, verb] = words
  const entry = first === undefined ? null : lookUp(catalogue, first)![1]
  if (entry === null)
    return groupPage([], 'coding agents work on real repositories; their work lands by a change request', catalogue)
  if (!isGroup(entry)) return commandPage(words, await entry.load())
  if (verb === undefined) return groupPage(words, entry.summary, entry.commands)
  return commandPage(words, await lookUp(entry.commands, verb)![1].load())
}

const nameOf = (words: readonly string[]) => ['svc', ...words].join('-')

async function groupPage(
  words: readonly string[],
  summary: string,
  entries: Readonly<Record<string, Entry>>,
): Promise<string> {
  const rows = await Promise.all(
    Object.entries(entries).map(async ([name, entry]): Promise<[string, string]> => [
      `${nameOf([...words, name])}(1)`,
      isGroup(entry) ? entry.summary : (await entry.load()).summary,
    ]),
  )
  return [
    ...head(words, summary),
    ...['.SH SYNOPSIS', `${bold(['svc', ...words].join(' '))} <command> [flags]`],
    ...['.SH COMMANDS', ...definitions(rows)],
    '',
  ].join('\n')
}

function commandPage(words: readonly string[], command: AnyCommand): string {
  const args = Object.entries(command.args).map(([name, { summary }]): [string, string] => [`<${name}>`, summary])
  return [
    ...head(words, command.summary),
    '.SH SYNOPSIS',
    [bold(['svc', ...words].join(' ')), ...argWords(command).map(escape), '[flags]'].join(' '),
    ...(command.about === undefined ? [] : ['.SH DESCRIPTION', command.about.map(escape).join('\n.PP\n')]),
    ...(args.length === 0 ? [] : ['.SH ARGUMENTS', ...definitions(args)]),
    ...['.SH FLAGS', ...definitions([...flagRows(command.flags), ...flagRows(globalFlags(command.scope))])],
    ...['.SH EXAMPLES', '.nf', ...command.examples.map(escape), '.fi'],
    '',
  ].join('\n')
}

function head(words: readonly string[], summary: string): string[] {
  const name = nameOf(words)
  return [`.TH ${name.toUpperCase()} 1 "" "svc ${version}"`, '.SH NAME', `${escape(name)} \\- ${escape(summary)}`]
}

function definitions(rows: readonly (readonly [string, string])[]): string[] {
  return rows.flatMap(([term, text]) => ['.TP', bold(term), escape(text)])
}

const bold = (text: string) => `\\fB${escape(text)}\\fR`

/** A backslash, a dash and a dot at the beginning of a line mean something to roff. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
}
