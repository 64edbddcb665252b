/** JSON schemas of the API document: a schema with an id becomes a component, and every other schema refers to it. */
import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** `input` is what a client sends, `output` is what the server answers. They differ where a field has a default. */
export type Direction = 'input' | 'output'

export class SchemaComponents {
  readonly components: Record<string, JsonSchema> = {}

  /** The replies are converted first, so that a component has the form of an answer unless only requests use it. */
  constructor(replies: z.ZodType[]) {
    for (const reply of replies) this.convert(reply, 'output')
  }

  convert(schema: z.ZodType, direction: Direction): JsonSchema {
    const made = z.toJSONSchema(schema, { io: direction, unrepresentable: 'any', override }) as JsonSchema
    const { $defs = {}, $schema: _, ...root } = made
    const parts = Object.entries($defs as Record<string, JsonSchema>).filter(([name]) => !isAnyJson(name))
    const names = new Map(parts.map(([name, part]) => [name, this.nameFor(name, part, direction)]))
    for (const [name, part] of parts) this.components[names.get(name)!] = withReferences(part, names)
    return withReferences(root, names)
  }

  private nameFor(name: string, part: JsonSchema, direction: Direction): string {
    const known = this.components[name]
    const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(withReferences(part, new Map()))
    return direction === 'output' || isSame ? name : `${name}Input`
  }
}

/** z.json() describes any JSON by a recursive definition with a generated name. An empty schema says the same. */
const isAnyJson = (name: string) => name.startsWith('__schema')

function withReferences(schema: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    const target = (value as { $ref?: unknown } | null)?.$ref
    if (typeof target !== 'string' || !target.startsWith('#/$defs/')) return value
    const name = target.slice('#/$defs/'.length)
    if (isAnyJson(name)) return {}
    return { ...(value as JsonSchema), $ref: `#/components/schemas/${names.get(name) ?? name}` }
  })
}

function override({
  zodSchema,
  jsonSchema: json,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) {
  const def = zodSchema._zod.def as { type: string; coerce?: boolean }
  // A number of a query arrives as text of any kind; a client writes an integer.
  if (def.type === 'number' && def.coerce) json.type = 'integer'
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
  // The format says the same in a form that generators know.
  if (json.format === 'uuid' || json.format === 'date-time' || json.format === 'date' || json.format === 'email')
    delete json.pattern
}
