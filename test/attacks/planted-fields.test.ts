/**
 * Every text field of the API either appears in `hostile-planted.ts`, which fills the pages, or is listed here with a reason.
 */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as contract from '@svc/contract'
import type { z } from 'zod'

const planted = readFileSync(join(import.meta.dir, '../e2e/hostile-planted.ts'), 'utf8')

/** Never shown, or of a closed shape. Any other field belongs into the corpus of the pages. */
const excused: Record<string, string> = {
  agent_name: 'checked against the names of agents before it is kept',
  base_ref: 'a branch that has to exist; names of branches are planted by git',
  default_branch: 'a branch that has to exist',
  expected_base_sha: 'hexadecimal',
  expected_head_sha: 'hexadecimal',
  git_api_url: 'judged as a URL; owners alone set it',
  repo_url: 'judged as a URL; url.test.ts',
  git_username: 'owners alone set it, and no reply holds it',
  git_token: 'no reply holds it',
  key: 'no reply holds it',
  models: 'names of models; owners of the instance alone set them, after the upstream answered to one',
  password: 'no reply holds it',
  current_password: 'no reply holds it',
  challenge: 'no reply holds it',
  verifier: 'no reply holds it',
  message_id: 'the id of a message that has to exist',
  viewed: 'paths and versions that the page compares with those of the diff, and never shows',
  visited: 'hexadecimal',
  blob_sha: 'hexadecimal',
  ref: 'a branch that has to exist; names of branches are planted by git',
  raw: 'a manifest; those of the default branch and of a branch are planted by git',
}

type Def = z.core.$ZodTypeDef & {
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  innerType?: z.ZodType
  valueType?: z.ZodType
  options?: z.ZodType[]
  in?: z.ZodType
  out?: z.ZodType
  format?: string
}

function* textsIn(schema: z.ZodType, name: string): Generator<string> {
  const def = schema.def as Def
  if (def.type === 'string' && def.format !== 'uuid' && def.format !== 'datetime') yield name
  for (const [key, inner] of Object.entries(def.shape ?? {})) yield* textsIn(inner, key)
  for (const inner of [def.element, def.innerType, def.valueType, def.in, def.out, ...(def.options ?? [])])
    if (inner !== undefined) yield* textsIn(inner, name)
}

test('every text that a request accepts is planted with hostile content, or listed as an exception', () => {
  const bodies = Object.entries(contract).flatMap(([name, route]) =>
    name.endsWith('Route') && typeof route === 'object' && 'body' in route && route.body
      ? [route.body as z.ZodType]
      : [],
  )
  expect(bodies.length).toBeGreaterThan(30)
  const texts = new Set(bodies.flatMap((body) => [...textsIn(body, '')]))
  const isPlanted = (name: string) => new RegExp(`\\b${name}\\b`).test(planted)
  expect([...texts].filter((name) => name !== '' && !isPlanted(name) && !(name in excused))).toEqual([])
  // A reason for a field that no longer exists must go.
  expect(Object.keys(excused).filter((name) => !texts.has(name) || isPlanted(name))).toEqual([])
})
