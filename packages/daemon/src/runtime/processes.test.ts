import { expect, test } from 'bun:test'
import { otherProcesses, sandboxProcesses } from './processes.ts'

const own = { daemonPid: 2, runtimePid: 10 }
const alone = [
  { pid: 1, parent: 0, group: 1 },
  { pid: 2, parent: 1, group: 1 },
  { pid: 10, parent: 2, group: 10 },
]

test('the runtime, its tool servers, the daemon and PID 1 are not other processes', () => {
  const helpers = [
    { pid: 11, parent: 10, group: 10 },
    { pid: 12, parent: 11, group: 10 },
  ]
  expect(otherProcesses([...alone, ...helpers], own)).toEqual([])
})

test('a command of the agent, a shell of a person and what outlived its parent are other processes', () => {
  const others = [
    // A command of the agent, in a process group of its own.
    { pid: 20, parent: 10, group: 20 },
    { pid: 21, parent: 20, group: 20 },
    // A terminal.
    { pid: 30, parent: 2, group: 30 },
    // It was left running in the group of the runtime.
    { pid: 40, parent: 1, group: 10 },
  ]
  expect(otherProcesses([...alone, ...others], own)).toEqual(others)
})

test('lists the processes that run, and no zombies', async () => {
  const child = Bun.spawn(['sleep', '600'])
  const found = () => sandboxProcesses().find(({ pid }) => pid === child.pid)
  expect(found()).toMatchObject({ parent: process.pid })
  child.kill('SIGKILL')
  await child.exited
  expect(found()).toBeUndefined()
})
