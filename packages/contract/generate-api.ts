/** Writes packages/contract/src/api.gen.ts from the routes. `--check` fails when the file is stale. */
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { openApiDocument } from './src/openapi.ts'

interface Operation {
  responses: Record<string, unknown>
}

/** Every error has one shape, so the types of an operation name it once and not for each status. */
function withOneError(document: Record<string, unknown>): Record<string, unknown> {
  for (const path of Object.values(document.paths as Record<string, Record<string, Operation>>))
    for (const operation of Object.values(path)) {
      const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
      operation.responses = { ...Object.fromEntries(answers), default: { $ref: '#/components/responses/Internal' } }
    }
  const { responses, ...components } = document.components as { responses: Record<string, unknown> }
  return { ...document, components: { ...components, responses: { Internal: responses.Internal } } }
}

const target = join(import.meta.dir, 'src/api.gen.ts')
// A field with a default is optional in a request; in an answer its schema says that it is required.
const options = { defaultNonNullable: false, rootTypes: true, rootTypesNoSchemaPrefix: true, rootTypesKeepCasing: true }
const printed = astToString(await openapiTS(withOneError(openApiDocument('0')) as never, options))
// A type of its own for each schema, and for nothing else.
const types = printed.replace(/^export type (Parameter|Response|Header)\w+ = .*\n/gm, '')
const made = `// Made by packages/contract/generate-api.ts from the routes; edit those.\n${types}`
if (process.argv.includes('--check')) {
  const found = await Bun.file(target).text()
  if (found !== made) {
    console.error('packages/contract/src/api.gen.ts is stale: run `npm run generate` and commit it.')
    process.exitCode = 1
  }
} else {
  await Bun.write(target, made)
}
