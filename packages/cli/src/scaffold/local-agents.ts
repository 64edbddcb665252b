/** Local coding agents that can use the same skill, detected by their files in the project or the home directory. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { scaffoldFiles, skillPath } from './files.ts'
import { extendFile, placeFile, type Placed } from './place.ts'

interface LocalAgent {
  name: string
  path: string
  wire(top: string): Promise<Placed>
}

const skill = () => scaffoldFiles('')[skillPath]!

const mention = `
## svc

Work on this project is delivered as change requests in svc. Read \`${skillPath}\` before you commit, push or deliver work.
`

const rule = `---
description: How to deliver work on this project
alwaysApply: true
---
${mention}`

interface Known extends LocalAgent {
  inProject: readonly string[]
  inHome: readonly string[]
}

const copyOfSkill = (name: string, path: string, inProject: readonly string[], inHome: readonly string[]): Known => ({
  name,
  path,
  inProject,
  inHome,
  wire: (top) => placeFile(top, path, skill()),
})

const known: readonly Known[] = [
  copyOfSkill('Claude Code', '.claude/skills/svc/SKILL.md', ['.claude', 'CLAUDE.md'], ['.claude']),
  copyOfSkill(
    'opencode',
    '.opencode/skills/svc/SKILL.md',
    ['.opencode', 'opencode.json', 'opencode.jsonc'],
    ['.config/opencode'],
  ),
  {
    name: 'agents that read AGENTS.md',
    path: 'AGENTS.md',
    inProject: ['AGENTS.md'],
    inHome: ['.codex'],
    wire: (top) => extendFile(top, 'AGENTS.md', skillPath, mention),
  },
  {
    name: 'Cursor',
    path: '.cursor/rules/svc.mdc',
    inProject: ['.cursor'],
    inHome: [],
    wire: (top) => placeFile(top, '.cursor/rules/svc.mdc', rule),
  },
]

export async function findLocalAgents(top: string, home: string | undefined): Promise<LocalAgent[]> {
  const found: LocalAgent[] = []
  for (const agent of known) {
    const places = [
      ...agent.inProject.map((path) => join(top, path)),
      ...(home ? agent.inHome.map((path) => join(home, path)) : []),
    ]
    const there = await Promise.all(places.map((path) => stat(path).catch(() => null)))
    if (there.some((each) => each !== null)) found.push(agent)
  }
  return found
}
