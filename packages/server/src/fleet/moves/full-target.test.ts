/** Moves to a server whose disk has too little space. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SmallDisk } from '../../testing-small-disk.ts'
import { until } from '../../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from '../testing-fleet.ts'
import { TestProjectOfFleet } from './testing-moves.ts'

setDefaultTimeout(120_000)

const mebibyte = 1024 * 1024
let disks: Array<SmallDisk | null> = []
let fleet: Fleet
let ada: FleetServer
let project: TestProjectOfFleet

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
  disks = [
    await SmallDisk.mount(join(fleet.dir, 'small'), '32m'),
    await SmallDisk.mount(join(fleet.dir, 'filling', 'moving'), '6m'),
  ]
  expect((await small.boot({ SVC_DISK_FREE_MIN: '16MiB' })).url).not.toBeNull()
  expect((await filling.boot()).url).not.toBeNull()
})
afterAll(async () => {
  for (const disk of disks) disk?.unmount()
  await fleet.close()
})

test.each([
  ['small', /^The repository needs 24.* and the disk of small has 1\d.* for it\.$/],
  ['filling', /^The disk of filling became full while the repository was copied\.$/],
])(
  'a move to a server with too little space fails with the reason and leaves nothing there: %s',
  async (name, says) => {
    if (disks.includes(null)) return
    await project.move(
      ada,
      fleet.servers.find((each) => each.name === name)!,
    )
    expect(await project.ended()).toMatchObject({ phase: 'failed', home: 'ada', error: expect.stringMatching(says) })
    const left = async () => (await readdir(join(fleet.dir, name, 'moving')).catch(() => [])).length === 0
    await until('nothing of the copy is left', left)
  },
)
