/** The files that `svc init` writes. The project owns them from then on. */

export const skillPath = '.svc/runtime/skills/svc/SKILL.md'

export function scaffoldFiles(name: string): Record<string, string> {
  return {
    'svc.toml': manifest(name),
    '.svc/Dockerfile': dockerfile,
    // Each user links the folder to a server of their own.
    '.svc/.gitignore': 'link.json\n',
    '.svc/runtime/agents/build.md': agent,
    [skillPath]: skill,
    '.svc/runtime/tools/open-changes.js': openChanges,
  }
}

// A JSON string is a TOML string.
const manifest = (name: string) => `# What svc knows of this project. It is read from the default branch only:
# an edit counts once the change request that carries it is merged.
svc_version = 1

[project]
name = ${JSON.stringify(name)}

# Secrets that sessions need as environment variables: svc secrets set NAME=VALUE
[env]
required = []
optional = []

# Agents, skills and tools of the agent runtime lie here.
[runtime]
config_dir = ".svc/runtime"

[sandbox]
# For drivers that build images; others use the programs of the server's machine.
dockerfile = ".svc/Dockerfile"
# A command that runs in every new sandbox, before the agent starts:
# setup = "npm ci"
# Hosts that sandboxes may reach. Without any they have no network:
# egress = ["registry.npmjs.org"]

# A session on a schedule:
# [[triggers]]
# slug = "weekly-updates"
# type = "cron"
# cron = "0 6 * * 1"
# prompt = "Update the dependencies, run the tests and open a change request."
`

const dockerfile = `# The image of this project's sandboxes, for drivers that build one. It has to bring
# glibc, bash, git, setpriv and prlimit; svc and the agent runtime are added to it.
FROM buildpack-deps:bookworm-scm

# Needs a network while it is built (SVC_BUILD_NETWORK of the server):
# RUN apt-get update && apt-get install -y --no-install-recommends ripgrep nodejs npm
`

const agent = `---
description: The default agent of this project. It works on a branch of its own and proposes its work as a change request.
mode: primary
---

You are a software engineer at work on the repository in /workspace.

- Read before you write. Follow the conventions you find in the code, its tests and its documents.
- Do what you were asked, completely and no more. Say what you left out and why.
- Run what checks your work: tests, types, linters. Say which you ran and what they said.
- Commit in small steps, each with a message that says why.
- Your work reaches the default branch by a change request only. Load the skill \`svc\` before you hand over, and do what it says.
- Never merge your own change request: that is the decision of the person you work for.
`

const skill = `---
name: svc
description: How work on this project is handed over. Use it before you commit, push, open or update a change request, when a change request has conflicts, and whenever you work in a svc sandbox.
---

# Handing over work

Work reaches the default branch by a change request and by nothing else: code, new files, this very file, \`svc.toml\`, however small. You open it; a person merges it.

## In a svc sandbox

Your branch is \`$SVC_BRANCH_NAME\`, checked out already. The sandbox is thrown away; what is pushed stays.

1. Commit small working steps on your branch. Do not rewrite what was pushed, and do not force-push.
2. \`git push origin HEAD\`
3. \`svc cr open --title "<what it does>" --description "<why, and how it was checked>"\`
4. \`svc cr ls\` shows its number: tell it to the person you work for.
5. Stop there. Do not merge it, and do not ask to.

More commits on the branch become part of the open change request: push, and it has them.

## On a laptop

\`svc whoami\` and \`svc projects info\` say where you are. Work on a branch, push it through the project, then \`svc cr open --title "…" --head <branch>\`. \`svc ship\` does this for the commits of the current branch, and asks nobody: use it only when you were told to.

## When its checks fail

\`svc cr checks <number> --wait --log\` says how the commands under \`[[checks]]\` went on the files as a merge would leave them, and what they wrote. Mend it on your branch, commit and push: they run again by themselves.

## When it conflicts

\`svc cr show <number>\` names the files.

1. \`git fetch origin && git merge "origin/\${SVC_DEFAULT_BRANCH:-main}"\` on your branch
2. resolve, run the tests, commit
3. \`git push origin HEAD\`
4. \`svc cr show <number>\` has to say that it merges cleanly. Then hand it back.

## What not to do

- push, force-push or delete the default branch (it is refused)
- leave work on the branch without a change request
- hand over an archive, a paste or a patch instead
- print the values of secrets; \`svc secrets ls\` names them

\`svc help\` lists every command, \`svc <command> --help\` explains one, \`--json\` is on all of them.
`

const openChanges = `// A tool of the agent runtime: which change requests are open, so that work is not done twice.
import { execFile } from 'node:child_process'

export default {
  description: 'List the open change requests of this project: number, title, branches. Look before you begin work that somebody may have proposed already.',
  args: {},
  async execute() {
    return new Promise((resolve) => {
      execFile('svc', ['cr', 'ls', '--json'], { timeout: 30_000 }, (error, stdout, stderr) => {
        resolve(error === null ? stdout : \`svc cr ls failed: \${stderr}\`)
      })
    })
  },
}
`
