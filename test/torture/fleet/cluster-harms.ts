/** Harms of the cluster in which the sandboxes run. Every server needs it for its own sandboxes alone. */
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { until } from '../../e2e/harness.ts'
import { killOf } from '../sandbox-victims.ts'
import type { Pod, TorturedCluster } from './cluster-sandboxes.ts'
import type { FleetServer } from './fleet.ts'
import { anyServer, between, cutWhile, deadMs, type Harm } from './harms.ts'
import type { Cut } from './network.ts'
import type { Run } from './run.ts'

const controller = /agent-sandbox-controller/
const apiServer = /kube-apiserver/

export function clusterHarms(tortured: TorturedCluster): Harm[] {
  return [
    { name: 'pod deleted', do: async (run) => void (await deletePod(tortured, run)) },
    { name: 'pod deleted behind a dead server', do: (run) => deletedBehind(tortured, run) },
    { name: 'server restarted without the cluster', do: restartedApart },
    { name: 'pod deleted behind a cut', do: (run) => deletedBehindCut(tortured, run) },
    { name: 'claims controller killed', do: () => killPart(tortured, controller) },
    { name: 'claims controller paused', do: (run) => pausePart(tortured, run, controller) },
    { name: 'API server killed', do: () => killPart(tortured, apiServer) },
    { name: 'API server paused', do: (run) => pausePart(tortured, run, apiServer) },
    { name: 'server cut from the cluster', do: cutOne },
    { name: 'cluster cut from all', do: (run) => cutWhile(run, run.fleet.servers.flatMap(clusterOf)) },
  ]
}

const clusterOf = ({ n }: FleetServer): Cut[] => [{ between: [n, 'cluster'], ways: 'both' }]

async function cutOne(run: Run): Promise<void> {
  const ways = run.random() < 0.7 ? 'both' : 'there'
  await cutWhile(
    run,
    clusterOf(anyServer(run)).map((cut) => ({ ...cut, ways })),
  )
}

/** As an administrator or a node that gives up does it: the pod is gone at once. */
async function deletePod(tortured: TorturedCluster, run: Run): Promise<Pod> {
  const pod = await until('a pod to delete', async () => {
    const pods = await tortured.pods()
    return pods[Math.floor(run.random() * pods.length)]
  })
  await tortured.deletePod(pod)
  run.victims.set(pod.sandboxId, 'pod')
  return pod
}

async function homeOf({ fleet }: Run, { sandboxId }: Pod): Promise<FleetServer | null> {
  const { rows } = await withClient(fleet.database.url, (client) =>
    client.query<{ home: string }>(
      `select home from session_sandboxes join project_sessions using (session_id) join projects using (project_id)
       where sandbox_id = $1`,
      [sandboxId],
    ),
  )
  return fleet.servers.find(({ name }) => name === rows[0]?.home) ?? null
}

/** One whose sandbox is at work, and its server. */
async function podAndHome(tortured: TorturedCluster, run: Run): Promise<{ pod: Pod; home: FleetServer }> {
  return until('a pod with a server', async () => {
    const pods = await tortured.pods()
    const pod = pods[Math.floor(run.random() * pods.length)]
    const home = pod === undefined ? null : await homeOf(run, pod)
    return pod === undefined || home === null ? null : { pod, home }
  })
}

async function deletedBehind(tortured: TorturedCluster, run: Run): Promise<void> {
  const { pod, home } = await podAndHome(tortured, run)
  run.harmed.add(home)
  await home.server.kill('SIGKILL')
  await tortured.deletePod(pod)
  run.victims.set(pod.sandboxId, 'pod of a dead server')
  await delay(between(run, [0, 8_000]))
  await run.fleet.start(home)
}

/** Its sandboxes go on, and it finds them once it reaches the cluster. */
async function restartedApart(run: Run): Promise<void> {
  const it = anyServer(run)
  await it.server.kill('SIGKILL')
  await run.fleet.network.cut(clusterOf(it))
  // It says that it is ready after it tried the cluster, and serves requests before.
  const healed = delay(between(run, [deadMs / 2, deadMs + 10_000])).then(() => run.fleet.network.heal(clusterOf(it)))
  await Promise.all([run.fleet.start(it), healed])
}

async function deletedBehindCut(tortured: TorturedCluster, run: Run): Promise<void> {
  const { pod, home } = await podAndHome(tortured, run)
  run.harmed.add(home)
  const cuts = clusterOf(home)
  await run.fleet.network.cut(cuts)
  await tortured.deletePod(pod)
  run.victims.set(pod.sandboxId, 'pod')
  await delay(between(run, [2_000, deadMs]))
  await run.fleet.network.heal(cuts)
}

/** It is started again, as by the cluster or by the service manager of its node. */
async function killPart(tortured: TorturedCluster, command: RegExp): Promise<void> {
  await until(`${command.source} to kill`, () => tortured.parts(command).some(killOf))
}

async function pausePart(tortured: TorturedCluster, run: Run, command: RegExp): Promise<void> {
  const parts = await until(`${command.source} to pause`, () => {
    const found = tortured.parts(command)
    return found.length > 0 && found
  })
  for (const { pid } of parts) process.kill(pid, 'SIGSTOP')
  await delay(between(run, [2_000, deadMs]))
  for (const { pid } of parts) process.kill(pid, 'SIGCONT')
}
