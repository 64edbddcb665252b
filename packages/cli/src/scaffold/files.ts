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
const manifest = (name: string) => `# Settings of this project. svc reads this file from the default branch only:
# a change takes effect when its change request is merged.
svc_version = 1

[project]
name = ${JSON.stringify(name)}

# Secrets that sessions need as environment variables: svc secrets set NAME=VALUE
[env]
required = []
optional = []

# The folder of agents, skills and tools for the agent runtime.
[runtime]
config_dir = ".svc/runtime"

[sandbox]
# For sandbox drivers that build images; the others use the programs of the server's machine.
dockerfile = ".svc/Dockerfile"
# A command that runs in every new sandbox, before the agent starts:
# setup = "npm ci"
# Hosts that sandboxes may reach. Without this list they have no network:
# egress = ["registry.npmjs.org"]

# A session on a schedule:
# [[triggers]]
# slug = "weekly-updates"
# type = "cron"
# cron = "0 6 * * 1"
# prompt = "Update the dependencies, run the tests and open a change request."
`

const dockerfile = `# The image of this project's sandboxes, for drivers that build one. It must contain
# glibc, bash, git, setpriv and prlimit. The server adds svc and the agent runtime.
FROM buildpack-deps:bookworm-scm

# Needs a network during the build (SVC_BUILD_NETWORK of the server):
# RUN apt-get update && apt-get install -y --no-install-recommends ripgrep nodejs npm
`

const agent = `---
description: The default agent of this project. It works on a branch of its own and proposes its work as a change request.
mode: primary
---

You are a software engineer working on the repository in /workspace.

- Read before you write. Follow the conventions you find in the code, its tests and its documents.
- Do what you were asked, completely and no more. Say what you left out and why.
- Check your work: run tests, type checks and linters. Report which ones you ran and their results.
- Commit in small steps, each with a message that says why.
- Your work reaches the default branch only through a change request. Load the skill \`svc\` before you deliver your work, and follow it.
- Never merge your own change request: that is the decision of the person you work for.
`

const skill = `---
name: svc
description: How to deliver work on this project. Use it before you commit, push, open or update a change request, when a change request has conflicts, and whenever you work in a svc sandbox.
---

# Delivering work

All work reaches the default branch through a change request: code, new files, this file, \`svc.toml\`, however small. You open it; a person merges it.

## In a svc sandbox

Your branch is \`$SVC_BRANCH_NAME\`, which is already checked out. The sandbox is deleted later; pushed commits stay.

1. Commit small working steps on your branch. Do not rewrite pushed commits, and do not force-push.
2. \`git push origin HEAD\`
3. \`svc cr open --title "<what it does>" --description "<why, and how it was checked>"\`
4. \`svc cr ls\` shows its number: report it to the person you work for.
5. Stop there. Do not merge it, and do not ask to.

More commits on the branch become part of the open change request: just push them.

## On a laptop

\`svc whoami\` and \`svc projects info\` show the server and the project. Work on a branch, push it through the project, then \`svc cr open --title "…" --head <branch>\`. \`svc ship\` does this for the commits of the current branch, and merges without asking: use it only when you were told to.

## When its checks fail

\`svc cr checks <number> --wait --log\` shows the results and the output of the commands under \`[[checks]]\`, which run on the merged files. Fix the problem on your branch, commit and push: the checks run again automatically.

## When it conflicts

\`svc cr show <number>\` names the files.

1. \`git fetch origin && git merge "origin/\${SVC_DEFAULT_BRANCH:-main}"\` on your branch
2. Resolve the conflicts, run the tests, commit.
3. \`git push origin HEAD\`
4. \`svc cr show <number>\` must say that it merges cleanly. Then report that it is ready.

## What not to do

- Do not push, force-push or delete the default branch (the server refuses it).
- Do not leave work on the branch without a change request.
- Do not deliver an archive, a paste or a patch instead.
- Do not print the values of secrets; \`svc secrets ls\` names them.

\`svc help\` lists every command, \`svc <command> --help\` explains one, and every command supports \`--json\`.
`

const openChanges = `// A tool of the agent runtime: lists the open change requests, so that no work is done twice.
import { execFile } from 'node:child_process'

export default {
  description: 'List the open change requests of this project: number, title, branches. Use it before you start work that may already be proposed.',
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
