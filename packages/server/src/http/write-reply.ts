import { setImmediate as othersHadTheirs } from 'node:timers/promises'
import { z } from 'zod'

/** Rows of a list and characters of a text to write before yielding to other requests. */
const rowsAtOnce = 500
const deliveriesAtOnce = 256 * 1024

/**
 * Writes a reply as JSON by its schema. A list of a hundred thousand files takes half a second, during which nothing
 * else would be answered, so long lists and texts are written in pieces.
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
    // As in JSON, undefined members are left out.
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

interface List {
  of: z.ZodType
  rows: unknown[]
}

/** Lists that can be checked against the schema row by row. */
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
  return typeof value === 'string' && value.length > deliveriesAtOnce
}

/** Without checks on the whole, which a part might fail. */
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

/** A surrogate pair that is cut is written as two escapes, which JSON readers join. */
async function writeText(text: string): Promise<string> {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += deliveriesAtOnce) {
    pieces.push(JSON.stringify(text.slice(at, at + deliveriesAtOnce)).slice(1, -1))
    await othersHadTheirs()
  }
  return `"${pieces.join('')}"`
}
