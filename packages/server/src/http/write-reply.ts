import { setImmediate as othersHadTheirs } from 'node:timers/promises'
import { z } from 'zod'

/** So many rows of a list, and so many letters of a text, are written before others get their turn. */
const rowsAtOnce = 500
const lettersAtOnce = 256 * 1024

/**
 * A reply as JSON, as its schema has it. The list of a hundred thousand files takes half a second, in which nobody else
 * would be answered, so long lists and texts are written piece by piece.
 */
export async function writeReply(schema: z.ZodType, result: unknown): Promise<string> {
  const lists = longLists(schema, result)
  const short = Object.fromEntries([...lists.keys()].map((name) => [name, []]))
  const parsed: unknown = schema.parse(lists.size === 0 ? result : { ...(result as object), ...short })
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  if (!isObject || (lists.size === 0 && !Object.values(parsed).some(isLongText))) return JSON.stringify(parsed)
  const members: string[] = []
  for (const [name, value] of Object.entries(parsed)) {
    const list = lists.get(name)
    const text = list ? await writeList(list) : isLongText(value) ? await writeText(value) : JSON.stringify(value)
    // As JSON has it: what is not there is left out.
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

interface List {
  of: z.ZodType
  rows: unknown[]
}

/** Those that may be held against the schema row by row. */
function longLists(schema: z.ZodType, result: unknown): Map<string, List> {
  const lists = new Map<string, List>()
  if (!(schema instanceof z.ZodObject) || !isPlain(schema) || typeof result !== 'object' || result === null)
    return lists
  for (const [name, of] of Object.entries(schema.shape as Record<string, z.ZodType>)) {
    const rows = (result as Record<string, unknown>)[name]
    if (Array.isArray(rows) && rows.length > rowsAtOnce && of instanceof z.ZodArray && isPlain(of))
      lists.set(name, { of, rows })
  }
  return lists
}

function isLongText(value: unknown): value is string {
  return typeof value === 'string' && value.length > lettersAtOnce
}

/** Without rules of its own on the whole, which a part might not keep. */
function isPlain(schema: z.ZodObject | z.ZodArray): boolean {
  return (schema.def.checks ?? []).length === 0
}

async function writeList({ of, rows }: List): Promise<string> {
  const pieces: string[] = []
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    pieces.push(JSON.stringify(of.parse(rows.slice(at, at + rowsAtOnce))).slice(1, -1))
    await othersHadTheirs()
  }
  return `[${pieces.join(',')}]`
}

/** A letter that is cut in two is written as its halves, which every reader of JSON puts together. */
async function writeText(text: string): Promise<string> {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += lettersAtOnce) {
    pieces.push(JSON.stringify(text.slice(at, at + lettersAtOnce)).slice(1, -1))
    await othersHadTheirs()
  }
  return `"${pieces.join('')}"`
}
