/** Writes packages/contract/src/api.gen.ts from the routes. `--check` fails when the file is stale. */
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { openApiDocument } from './src/openapi.ts'

const target = join(import.meta.dir, 'src/api.gen.ts')
const made = `// Made by packages/contract/generate-api.ts from the routes; edit those.\n${astToString(await openapiTS(openApiDocument('0') as never))}`
if (process.argv.includes('--check')) {
  const found = await Bun.file(target).text()
  if (found !== made) {
    console.error('packages/contract/src/api.gen.ts is stale: run `npm run generate` and commit it.')
    process.exitCode = 1
  }
} else {
  await Bun.write(target, made)
}
