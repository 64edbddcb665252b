/** The values that `svc self-host env set` suggests, by the rules of the server. */
import { expect, test } from 'bun:test'
import { settings } from '../packages/cli/src/self-host/settings.ts'
import { examineSettings } from '../packages/server/src/startup/examine-settings.ts'

/** The server reads these files at its start. */
const readsFile = ['SVC_GITHUB_APP_PRIVATE_KEY_FILE', 'SVC_LLM_UPSTREAMS_FILE']

test('the server accepts the example of every setting', () => {
  const examples = Object.entries(settings).filter(([name]) => !readsFile.includes(name))
  const refused = examples.flatMap(([name, { example }]) => {
    const env = example === undefined ? {} : { [name]: example }
    // A problem that names others, too, is that they are missing.
    return examineSettings({ settings: [env] }).problems[0]!.filter(({ names }) => names.length === 1)
  })
  expect(refused).toEqual([])
})

test('every setting but a secret has an example', () => {
  const without = Object.entries(settings).filter(
    ([, { example, secret }]) => (example === undefined) !== (secret === true),
  )
  expect(without.map(([name]) => name)).toEqual([])
})

test('every problem names settings that svc self-host env set knows', () => {
  const values = Object.keys(settings).map((name) => [name, '\u0000 not valid'])
  const [problems = []] = examineSettings({ settings: [Object.fromEntries(values)] }).problems
  expect(problems.length).toBeGreaterThan(50)
  expect(problems.flatMap(({ names }) => names).filter((name) => !(name in settings))).toEqual([])
})
