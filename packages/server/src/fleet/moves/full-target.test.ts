/** Moves to a server whose disk has too little space. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from '../testing-fleet.ts'
import { TestProjectOfFleet } from './testing-moves.ts'

setDefaultTimeout(120_000)

const mebibyte = 1024 * 1024
const mounted: string[] = []
let fleet: Fleet
let ada: FleetServer
let project: TestProjectOfFleet

async function mountSmall(dir: string, size: string): Promise<void> {
  await mkdir(dir, { recursive: true })
  const { exitCode } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', dir])
  if (exitCode === 0) mounted.push(dir)
  else console.log('not run: this user cannot mount a small file system')
}

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'small', 'filling'], { SVC_REPLICA: 'none', SVC_BALANCE_HOMES: 'off' })
  const [first, small, filling] = fleet.servers as [FleetServer, FleetServer, FleetServer]
  ada = first
  expect((await ada.boot()).url).not.toBeNull()
  project = await TestProjectOfFleet.make(fleet, ada)
  await writeFile(join(fleet.dir, `work-${project.id}`, 'large'), randomBytes(24 * mebibyte))
  await project.git('add', 'large')
  await project.git('commit', '-q', '-m', 'large')
  expect(await project.push(ada, 'HEAD', 'main')).toMatchObject({ code: 0 })
  await mountSmall(join(fleet.dir, 'small'), '32m')
  await mountSmall(join(fleet.dir, 'filling', 'moving'), '6m')
  expect((await small.boot({ SVC_DISK_FREE_MIN: '16MiB' })).url).not.toBeNull()
  expect((await filling.boot()).url).not.toBeNull()
})
afterAll(async () => {
  for (const dir of mounted) Bun.spawnSync(['umount', '--lazy', dir])
  await fleet.close()
})

test.each([
  ['small', /^The repository needs 24.* and the disk of small has 1\d.* for it\.$/],
  ['filling', /^The disk of filling became full while the repository was copied\.$/],
])(
  'a move to a server with too little space fails with the reason and leaves nothing there: %s',
  async (name, says) => {
    if (mounted.length < 2) return
    await project.move(
      ada,
      fleet.servers.find((each) => each.name === name)!,
    )
    expect(await project.ended()).toMatchObject({ phase: 'failed', home: 'ada', error: expect.stringMatching(says) })
    const left = async () => (await readdir(join(fleet.dir, name, 'moving')).catch(() => [])).length === 0
    await until('nothing of the copy is left', left)
  },
)
