/** Concurrent clients. Each race returns its problems; the checks of a kill run follow as well. */
import { commitEach, tryGitIn } from './repositories.ts'
import type { Change, TortureProject, World } from './world.ts'

/** All of them merge into one base at once, and all succeed. */
export async function manyIntoOneBase(world: World, project: TortureProject, count: number): Promise<string[]> {
  const changes = await world.makeChanges(project, count)
  for (const change of changes) await world.open(change)
  const replies = await Promise.all(changes.map((change) => world.merge(change)))
  return replies.flatMap((reply, n) => {
    if (reply.status !== 200) return [`${changes[n]!.branch} was answered ${JSON.stringify(reply)}`]
    changes[n]!.merge = reply.body
    return []
  })
}

/** Many clients merge one change request, and exactly one of them succeeds. */
export async function manyMergersOfOne(world: World, project: TortureProject, mergers: number): Promise<string[]> {
  const [change] = await world.makeChanges(project, 1)
  await world.open(change!)
  const replies = await Promise.all(
    // One of them can be requested again afterwards.
    Array.from({ length: mergers }, (_, n) => world.mergeOnce(change!, n === 0 ? '' : `-${n}`)),
  )
  const won = replies.filter((reply) => reply.status === 200)
  if (replies[0]!.status === 200) change!.merge = replies[0]!.body
  const others = replies.filter((reply) => reply.status !== 200)
  return [
    ...(won.length === 1
      ? []
      : [`${won.length} of ${mergers} mergers of ${change!.branch} were told that they merged`]),
    ...others.filter((reply) => reply.status !== 409).map((reply) => `a merger was answered ${JSON.stringify(reply)}`),
  ]
}

/**
 * An external client keeps pushing to the base: none of its commits is overwritten, and a merge that cannot succeed is refused.
 */
export async function outsiderDuringMerges(world: World, project: TortureProject, count: number): Promise<string[]> {
  const changes = await world.makeChanges(project, count)
  for (const change of changes) await world.open(change)
  let isOver = false
  const pushing = (async () => {
    while (!isOver) await world.pushOutside(project)
  })()
  let slowestMs = 0
  const merge = async (change: Change): Promise<string[]> => {
    const began = performance.now()
    try {
      const reply = await world.mergeOnce(change)
      if (reply.status === 200) change.merge = reply.body
      else if (reply.body.code !== 'base_moved') return [`${change.branch} was answered ${JSON.stringify(reply)}`]
      return []
    } catch (error) {
      return [`${change.branch} was not answered: ${String(error)}`]
    } finally {
      slowestMs = Math.max(slowestMs, performance.now() - began)
    }
  }
  const problems = await Promise.all(changes.map(merge))
  // Before any folder is removed: a push into a folder that is being removed finds objects missing.
  isOver = true
  await pushing
  const merged = changes.filter((change) => change.merge !== null).length
  console.log(`  ${merged} of ${count} merged, the last answer after ${(slowestMs / 1000).toFixed(1)} s`)
  return problems.flat()
}

/** The agent pushes to the head while a person merges the commit they reviewed: exactly that commit is merged, or nothing. */
export async function agentPushesDuringMerge(
  world: World,
  project: TortureProject,
): Promise<{ problems: string[]; outcome: 'merged' | 'refused' }> {
  const [change] = await world.makeChanges(project, 1)
  await world.open(change!)
  const seen = change!.head
  const push = commitEach(project.dir, [
    { branch: change!.branch, file: `unseen-${change!.branch}.txt`, from: `refs/heads/${change!.branch}^0` },
  ])
  const reply = await world.mergeOnce(change!)
  const [unseen = ''] = await push
  const problems: string[] = []
  const isOnBase = await tryGitIn(project.dir, ['merge-base', '--is-ancestor', unseen, 'refs/heads/main'])
  if (isOnBase.code === 0) problems.push(`${change!.branch}: what nobody had seen was merged`)
  if (reply.status === 200) {
    change!.merge = reply.body
    if (reply.body.change_request.head_commit_sha !== seen)
      problems.push(`${change!.branch} was merged at another head`)
    return { problems, outcome: 'merged' }
  }
  if (reply.body.code !== 'head_moved') problems.push(`it was answered ${JSON.stringify(reply)}`)
  return { problems, outcome: 'refused' }
}
