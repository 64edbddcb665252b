/** Applies `--json=fields`, `--jq` and `--template` to a document. Loaded on demand: jq is a megabyte. */
import type { Globals } from '../arguments/command.ts'
import { UsageError } from '../errors.ts'
import { safeBlock, safeJson } from './safe.ts'

export type Filter = (document: unknown) => Promise<string>

export function createFilter({ fields, jq, template }: Pick<Globals, 'fields' | 'jq' | 'template'>): Filter {
  if (jq !== undefined && template !== undefined) throw new UsageError("--jq and --template can't be combined")
  return async (document) => {
    const chosen = fields === undefined ? document : selectFields(document, fields.split(','))
    if (jq !== undefined) return safeBlock(await runJq(chosen, jq))
    if (template !== undefined)
      return itemsOf(chosen)
        .map((item) => safeBlock(fill(template, item)))
        .join('')
    return `${safeJson(chosen, 2)}\n`
  }
}

type Item = Record<string, unknown>
const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The rows of a list, also when wrapped in an object (`{change_requests: […]}`); otherwise the document itself. */
function listIn(document: unknown): unknown[] | null {
  if (Array.isArray(document)) return document
  if (!isItem(document)) return null
  const values = Object.values(document)
  const lists = values.filter((value) => Array.isArray(value))
  return lists.length === 1 && values.every((value) => !isItem(value)) && values.length <= 3 ? lists[0]! : null
}

function itemsOf(document: unknown): unknown[] {
  return listIn(document) ?? [document]
}

function selectFields(document: unknown, names: readonly string[]): unknown {
  const rows = listIn(document)
  const select = (row: unknown) => Object.fromEntries(names.map((name) => [name, fieldOf(row, name)]))
  return rows === null ? select(document) : rows.map(select)
}

/** A field of the document or of its wrapped object: finds `number` in `{change_request: {number}}` too. */
function fieldOf(document: unknown, name: string): unknown {
  if (!isItem(document)) throw new UsageError(`The output has no fields, so no ${name}`)
  const [first, ...rest] = name.split('.') as [string, ...string[]]
  const holder = [document, ...Object.values(document).filter(isItem)].find((item) => Object.hasOwn(item, first))
  if (holder === undefined) {
    const inner = Object.values(document).find(isItem)
    const known = [...new Set([...Object.keys(document), ...Object.keys(inner ?? {})])].toSorted()
    throw new UsageError(`No field is named ${JSON.stringify(name)}`, { hint: `Fields: ${known.join(', ')}.` })
  }
  return rest.reduce<unknown>((value, key) => (isItem(value) ? value[key] : undefined), holder[first]) ?? null
}

/** `{name}` is a field, `{a.b}` a nested one, `{{` a brace; `\\t` and `\\n` are escapes. Prints a line per item. */
function fill(template: string, item: unknown): string {
  const text = template.replace(/\{\{|\{([\w.]+)\}|\\([nt\\])/g, (all, name?: string, escaped?: string) => {
    if (escaped !== undefined) return { n: '\n', t: '\t' }[escaped] ?? escaped
    if (name === undefined) return all === '{{' ? '{' : all
    const value = fieldOf(item, name)
    return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)
  })
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Validates before the command runs: a bad expression must not fail after a merge or a creation. */
export async function checkFilter({ jq }: Pick<Globals, 'jq'>): Promise<void> {
  if (jq === undefined) return
  try {
    // `empty` yields no input, so the expression is compiled and never run.
    await runJq(null, `empty | (${jq}\n)`)
  } catch (error) {
    // Compiled alone, so that the message refers to the user's text.
    await runJq(null, jq)
    throw error
  }
}

async function runJq(document: unknown, expression: string): Promise<string> {
  const { raw } = await import('jq-wasm')
  try {
    // Strings are printed without quotes, as gh does.
    const text = await raw(JSON.stringify(document), expression, ['-r', '-c'])
    return text === '' || text.endsWith('\n') ? text : `${text}\n`
  } catch (cause) {
    const said = (cause as Error).message
      .replace(/^.*?jq: (error( \(at [^)]*\))?: )?/s, '')
      .replace(/( \(Unix shell quoting issues\?\))? at <top-level>.*$/s, '')
      .split('\n')[0]
    throw new UsageError(`--jq: ${said}`, { hint: 'The syntax is that of jq: https://jqlang.org/manual.', cause })
  }
}
