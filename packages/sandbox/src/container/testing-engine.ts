/** A Docker engine for tests: on a private socket, with its data in a temporary folder and no network. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { findProgram } from '../local/probe.ts'
import { findEngine } from './engine.ts'

/** scripts/test-container.mjs unpacks an engine here. */
const unpacked = resolve(import.meta.dir, '../../../../node_modules/.cache/container-engine')

interface TestEngine {
  socket: string
  pid: number
  /** For the client of the engine. */
  env: { PATH: string; HOME: string; DOCKER_HOST: string }
  /** Its containers and volumes, and the networks that it does not have from the start. */
  left(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Returns the reason as a sentence when no engine can start. With `ownNetwork` it is in a network namespace, where its
 * containers have networks and publish ports without being seen by the machine: `nsenter --net` with its pid reaches them.
 */
export async function startTestEngine({ ownNetwork = false } = {}): Promise<TestEngine | string> {
  const program = findProgram('dockerd') ?? [join(unpacked, 'usr/sbin/dockerd')].find((path) => existsSync(path))
  if (program === undefined) return 'dockerd is not installed: npm run test:container downloads it'
  if (process.getuid?.() !== 0) return 'dockerd can only be started by root'
  const folder = await mkdtemp(join(tmpdir(), 'svc-eng-'))
  const socket = join(folder, 'docker.sock')
  mkdirSync(join(folder, 'exec'))
  const around = ownNetwork ? ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'] : []
  const path = `${join(unpacked, 'usr/bin')}:${join(unpacked, 'usr/sbin')}:/usr/sbin:/usr/bin:/sbin:/bin`
  const [first = program, ...command] = [...around, program]
  const child = spawn(
    first,
    [
      ...command,
      ...['--host', `unix://${socket}`, '--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--pidfile', join(folder, 'pid'), '--iptables=false', '--ip6tables=false', '--bridge=none'],
      ...['--ip-forward=false', '--ip-masq=false', '--log-level', 'error'],
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: path,
        LD_LIBRARY_PATH: `${join(unpacked, 'usr/lib')}:${join(unpacked, 'lib')}`,
        HOME: folder,
      },
    },
  )
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-500)))
  const deadline = Date.now() + 60_000
  while ((await findEngine([socket])).kind === 'none') {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      await end(child, folder)
      return `dockerd does not start here: ${stderr.trim()}`
    }
    await Bun.sleep(50)
  }
  const env = { PATH: path, HOME: folder, DOCKER_HOST: `unix://${socket}` }
  return { socket, pid: child.pid!, env, left: () => leftIn(socket), close: () => end(child, folder) }
}

async function leftIn(socket: string): Promise<string[]> {
  const found = await findEngine([socket])
  if (found.kind === 'none') throw new Error('The engine does not answer.')
  const { engine } = found
  const containers = await engine.json<{ Names: string[]; State: string }[]>('GET', '/containers/json?all=1')
  const { Volumes } = await engine.json<{ Volumes: { Name: string }[] | null }>('GET', '/volumes')
  const networks = await engine.json<{ Name: string }[]>('GET', '/networks')
  return [
    ...containers.map(({ Names, State }) => `container ${Names.join(' ')} (${State})`),
    ...(Volumes ?? []).map(({ Name }) => `volume ${Name}`),
    ...networks.filter(({ Name }) => Name !== 'none' && Name !== 'host').map(({ Name }) => `network ${Name}`),
  ]
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  const gone = new Promise<void>((resolveGone) => {
    if (child.exitCode !== null || child.signalCode !== null) resolveGone()
    else child.once('exit', () => resolveGone())
  })
  child.kill('SIGTERM')
  await gone
  await rm(folder, { recursive: true, force: true })
}
