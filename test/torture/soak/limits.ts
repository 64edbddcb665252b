/** How much each figure may grow: docs/engineering/torture.md explains the tolerances. */
import type { Rule } from './judge.ts'

const flat = (part: number, least: number): Rule => ({ is: 'flat', part, least })

const kept = (because: string, per: string, most: number): Rule => ({ is: 'kept', because, per, most })
const commits = 'commits of sessions that stay'
const requests = 'change requests of sessions that stay'

/** The first that fits counts. A figure without a rule is shown in the report and not judged. */
const rules: [RegExp, Rule][] = [
  [/^memory: server$/, flat(0.15, 40)],
  [/^memory: old daemon$/, flat(0.15, 15)],
  [/^handles: old daemon$/, flat(0, 6)],
  [/^memory: (PostgreSQL|daemon|first process|sandbox driver)$/, flat(0.2, 60)],
  // Each of its processes has a hundred open, and their number follows the load.
  [/^handles: PostgreSQL$/, flat(0.3, 400)],
  [/^handles: (server|daemon|first process|sandbox driver)$/, flat(0.2, 40)],
  // They run for milliseconds, so their number is the work of that moment.
  [/^(processes|threads): git$/, flat(0.5, 20)],
  [/^most handles: /, flat(0.2, 15)],
  [/^threads: /, flat(0.2, 20)],
  [/^processes(:|$)/, flat(0.2, 8)],
  [/^zombies$/, flat(0, 5)],
  [/^connections/, flat(0.2, 20)],
  [/^event loop lag$/, flat(0.5, 250)],
  [/^rows of session_messages$/, kept('a prompt and its answer, until the session is deleted', commits, 2.2)],
  [/^rows of session_prompts$/, kept('the prompt, until the session is deleted', commits, 1.1)],
  [/^rows of turn_snapshots$/, kept('the work after a turn, until the session is deleted', commits, 1.1)],
  [
    /^rows of change_request(s|_facts|_heads|_trees)$/,
    kept('change requests, until the project is deleted', requests, 1.2),
  ],
  [/^rows of change_request_versions$/, kept('each push of a change request, with it', commits, 1.2)],
  [/^rows of merge_attempts$/, kept('the merge of a change request, with it', requests, 1.2)],
  [/^rows of deleted_sandboxes$/, kept('the times of a sandbox, for what its account used', 'sessions', 3)],
  [/^rows of /, flat(0.25, 50)],
  [/^disk of the repository that stays$/, kept('commits, trees and files of merged work', commits, 0.06)],
  [/^disk of the write-ahead log$/, flat(0, 256)],
  [/^disk of /, flat(0.25, 24)],
]

export const ruleOf = (name: string): Rule | null => rules.find(([pattern]) => pattern.test(name))?.[1] ?? null
