/** `npm run test:schemathesis` sends requests that schemathesis generates from our OpenAPI document to a real server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeWorld, type World } from './world.ts'

const [program = '', ...more] = process.argv.slice(2)
/** The checks for server errors and a wrong document; our own tests cover refusals of odd data. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

const world = await makeWorld()
const folder = await mkdtemp(join(tmpdir(), 'svc-schemathesis-'))
let code = 1
try {
  const config = join(folder, 'schemathesis.toml')
  await writeFile(config, configuration(world))
  const command = [
    '--config-file',
    config,
    'run',
    `${world.url}/v1/openapi.json`,
    '--checks',
    checks.join(','),
    ...more,
  ]
  const child = Bun.spawn([program, ...command], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  code = await child.exited
  const after = await fetch(`${world.url}/v1/projects/${world.ids.projectId![0]}`, {
    headers: { authorization: `Bearer ${world.token}` },
  })
  if (after.status !== 200) {
    console.error(
      `A request ended the token or the project that the others need (${after.status}): this run shows nothing.`,
    )
    code = 1
  }
} finally {
  await world.close()
  await rm(folder, { recursive: true, force: true })
}
// The test database ends with this process, and keeps it from exiting by itself.
process.exit(code)

/** Mostly real ids, otherwise generated ones; an operation that deletes gets only ids that nothing else needs. */
function configuration({ token, ids, fields, slugs, spare }: World): string {
  const lists = Object.entries(ids).map(([name, values]) => dictionary(name, values))
  const uses = Object.keys(ids).map((name) => `"path.${name}" = { dictionary = "${name}", probability = 0.95 }`)
  const removals = Object.entries(spare).flatMap(([operation, parameters]) =>
    Object.entries(parameters).map(([name, values]) => ({ operation, name, values, list: `${operation}_${name}` })),
  )
  return [
    `headers = { Authorization = "Bearer ${token}" }`,
    'continue-on-failure = true',
    'max-stream-events = 1',
    'request-timeout = 20',
    // Ids read from responses would lead a deletion to the token and the project that all other requests need.
    ...['examples', 'coverage', 'fuzzing'].map((phase) => `phases.${phase}.extra-data-sources.responses = false`),
    ...lists,
    ...Object.entries(fields).map(([place, values]) => dictionary(place.replace('.', '_'), values)),
    ...Object.entries(slugs).map(([noun, values]) => dictionary(`${noun}_slug`, values)),
    ...removals.map(({ list, values }) => dictionary(list, values)),
    '[parameters]',
    ...uses,
    ...Object.keys(fields).map(
      (place) => `"${place}" = { dictionary = "${place.replace('.', '_')}", probability = 0.7 }`,
    ),
    ...Object.keys(slugs).flatMap((noun) => [
      '[[operations]]',
      `include-path-regex = "/${noun}/[{]"`,
      '[operations.parameters]',
      `"path.${noun === 'secrets' ? 'name' : 'slug'}" = { dictionary = "${noun}_slug", probability = 0.9 }`,
    ]),
    ...removals.flatMap(({ operation, name, list }) => [
      '[[operations]]',
      `include-operation-id = "${operation}"`,
      // Links between responses and parameters would lead it to ids that are not spare.
      'phases.stateful.enabled = false',
      '[operations.parameters]',
      `"path.${name}" = { dictionary = "${list}", probability = 1.0 }`,
    ]),
    '',
  ].join('\n')
}

function dictionary(name: string, values: (string | number)[]): string {
  return `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}`
}
