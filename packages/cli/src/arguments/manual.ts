/** Manual pages in roff, generated from the definitions of the commands. */
import { catalogue, type Entry, entryOf, isGroup } from './catalogue.ts'
import { type AnyCommand, globalFlags } from './command.ts'
import { argWords, flagRows } from './help.ts'
import { version } from '../config/build-values.ts'

/** Every page by its name: `svc`, `svc-cr`, `svc-cr-merge`. */
export async function manualPages(): Promise<[string, string][]> {
  const paths: string[][] = [[]]
  for (const [name, entry] of Object.entries(catalogue)) {
    paths.push([name])
    if (isGroup(entry)) paths.push(...Object.keys(entry.commands).map((verb) => [name, verb]))
  }
  return Promise.all(paths.map(async (words): Promise<[string, string]> => [nameOf(words), await manualPage(words)]))
}

/** `words` name a command or a group; no words mean the program. */
export async function manualPage(words: readonly string[]): Promise<string> {
  if (words.length === 0)
    return groupPage([], 'coding agents work on real repositories and deliver their work as change requests', catalogue)
  const entry = entryOf(words)
  return isGroup(entry) ? groupPage(words, entry.summary, entry.commands) : commandPage(words, await entry.load())
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

/** roff interprets backslashes, dashes, and a dot at the start of a line. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
}
