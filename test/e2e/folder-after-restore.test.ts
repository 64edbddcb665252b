/** A restore onto a PostgreSQL of the operator into a new data folder, by the commands of the docs, while the saved settings name the old one. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { createTestDatabase, type TestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { program, type Ran, removeFolder, run } from './harness.ts'

setDefaultTimeout(400_000)

let dir: string
let database: TestDatabase
let env: Record<string, string>
beforeAll(async () => {
  database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  dir = await mkdtemp(join(tmpdir(), 'svc-after-'))
  await mkdir(join(dir, 'bin'))
  await symlink(program, join(dir, 'bin/svc'))
  env = { PATH: `${join(dir, 'bin')}:${process.env.PATH ?? ''}`, HOME: dir, SVC_SANDBOX_DRIVER: 'none' }
})
afterAll(async () => {
  for (const name of ['old', 'new', 'moved']) await paste(`SVC_DATA_DIR=${join(dir, name)} svc self-host stop`)
  await database.drop()
  await removeFolder(dir)
})

/** As a person types or pastes it. */
const paste = (command: string): Promise<Ran> => run(['bash', '-c', command], { env, cwd: dir })

async function works(command: string): Promise<Ran> {
  const ran = await paste(command)
  expect([command, ran.code, ran.stderr]).toEqual([command, 0, expect.any(String)])
  return ran
}

async function refused(command: string): Promise<string> {
  const { code, stderr } = await paste(command)
  expect([command, code]).toEqual([command, 1])
  return stderr
}

const dataOf = async (command: string) =>
  (JSON.parse((await works(`${command} --json`)).stdout) as { server: { data_dir: string } | null }).server?.data_dir

test('a start on the folder of before a restore is refused, and the way to the new folder is printed', async () => {
  const [old, restored] = [join(dir, 'old'), join(dir, 'new')]
  await works(`svc self-host env set SVC_PORT=${await freePort()} SVC_DATA_DIR=${old} DATABASE_URL='${database.url}'`)
  await works('svc self-host start')
  await works('git config --global user.name t && git config --global user.email t@t.invalid')
  await works('svc projects create --name kept')
  await works('git init -q -b main work && cd work && echo a > a.txt && git add -A && git commit -qm first')
  await works('cd work && svc ship --project kept')
  await works('svc self-host backup backups')
  await works('svc self-host stop')
  await withClient(database.url, (client) => client.query('drop schema public cascade; create schema public'))

  const save = `svc self-host env set SVC_DATA_DIR=${restored}`
  const made = await works(`SVC_DATA_DIR=${restored} svc self-host restore backups`)
  expect(made.stderr).toContain(`Commands and starts without it use ${old}`)
  expect(made.stderr).toContain(`save it after the resume: ${save}`)
  const held = await works(`SVC_DATA_DIR=${restored} svc self-host start`)
  expect(held.stderr).toContain(`save it after the resume: ${save}`)
  const lifted = await works(`SVC_DATA_DIR=${restored} svc self-host resume`)
  expect(lifted.stderr).toContain(`To save it: ${save}`)
  const again = await works(`SVC_DATA_DIR=${restored} svc self-host start`)
  expect(again.stderr).toContain(`To save it: ${save}`)

  // Beside the running one, and when it is stopped.
  const status = await works('svc self-host status')
  expect(status.stderr).toContain(`Another server of svc self-host start runs on ${restored}`)
  expect(status.stderr).toContain(`To mean it with every command: ${save}`)
  expect((await works('svc self-host stop')).stderr).toContain(`SVC_DATA_DIR=${restored} svc self-host stop`)
  await works('cd work && echo b > b.txt && git add -A && git commit -qm second && svc ship --project kept')
  await works(`SVC_DATA_DIR=${restored} svc self-host stop`)
  const why = await refused('svc self-host start')
  expect(why).toContain(`The data folder ${old} is not the newest: its projects were served from ${restored} on `)
  expect(why).toContain(save)
  await works(`SVC_DATA_DIR=${restored} svc self-host start`)

  // The printed way.
  await works(save)
  expect(await dataOf('svc self-host status')).toBe(restored)
  await works('svc self-host stop')
  await works('svc self-host start')
  const head = (await works('git -C work rev-parse HEAD')).stdout.trim()
  expect((await works('svc branches ls --project kept --json')).stdout).toContain(head)
  await works('svc self-host check')
})

test('the data folder moves to another disk, and the old one does not start any more', async () => {
  const [old, moved] = [join(dir, 'new'), join(dir, 'moved')]
  await works('svc self-host stop --sessions')
  await works(`cp -a ${old} ${moved}`)
  await works(`svc self-host env set SVC_DATA_DIR=${moved}`)
  await works('svc self-host start')
  expect(await dataOf('svc self-host status')).toBe(moved)
  await works('cd work && echo c > c.txt && git add -A && git commit -qm third && svc ship --project kept')
  await works('svc self-host stop')
  for (const command of ['start', 'backup backups', 'check', 'move-database embedded'])
    expect(await refused(`SVC_DATA_DIR=${old} svc self-host ${command}`)).toContain(`SVC_DATA_DIR=${moved}`)
  await works('svc self-host start')
  await works('svc self-host check')
})
