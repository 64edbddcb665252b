import type { Connector, ConnectorPolicy } from '@svc/contract/routes/connectors'
import { command } from '../../arguments/command.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, dim, green, type Piece, red, yellow } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'

const slugArg = { summary: 'Slug of the connector in svc.toml' } as const

function stateOf({ status }: Pick<Connector, 'status'>): Piece {
  const colour = { ready: green, failed: red, unchecked: yellow, off: dim }
  return colour[status](status)
}

function policyLabel(policy: ConnectorPolicy): Piece {
  return { allow: green, ask: yellow, block: red }[policy](policy)
}

function policyOfAll({ policy }: Pick<Connector, 'policy'>): Piece {
  return policy === null ? dim('allow reads, ask for the rest') : policyLabel(policy)
}

/** The arguments the agent wants to send, on one line. */
function argumentsLine({ arguments: args }: { arguments: object }): string {
  return JSON.stringify(args)
}

export const ls = command({
  summary: 'List the connectors of svc.toml on the default branch',
  scope: 'project',
  examples: ['svc connectors ls', 'svc connectors ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/connectors')
    out.list(found, found.connectors, 'No connectors yet. Define them as [[connectors]] in svc.toml.', [
      { title: 'SLUG', of: (connector) => connector.slug },
      { title: 'TYPE', of: (connector) => connector.type },
      { title: 'STATE', of: stateOf },
      { title: 'TOOLS', of: (connector) => String(connector.tools.length) },
      { title: 'POLICY', of: policyOfAll },
      { title: 'WHY', of: (connector) => (connector.error === null ? dim('') : connector.error), shrink: true },
    ])
    warnOfErrors(out, found.errors)
    if (found.approvals_pending > 0)
      out.note(`${found.approvals_pending} calls wait for approval: ${next('svc connectors approvals')}`)
  },
})

export const show = command({
  summary: 'Show one connector: its tools with their policies, and its newest calls',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc connectors show tracker', 'svc connectors show tracker --json'],
  async run({ out, project }, { args }) {
    const found = await project.get('/connectors/{slug}', { path: { slug: args.slug } })
    if (out.json) return out.document(found)
    const { auth } = found
    out.fields([
      ['slug', found.slug],
      ['type', found.type],
      ['url', found.url],
      ['state', stateOf(found)],
      ['why', found.error],
      ['what to do', found.hint],
      ['credential', auth === null ? dim('none') : `${auth.secret_env ?? 'none'}, as ${auth.header ?? auth.type}`],
      ['asked', found.checked_at === null ? dim('not yet') : out.time(found.checked_at)],
      ['policy', policyOfAll(found)],
    ])
    out.section(found.tools, [
      { title: 'TOOL', of: (tool) => tool.name },
      { title: 'POLICY', of: (tool) => policyLabel(tool.policy) },
      { title: '', of: (tool) => dim(tool.read_only ? 'reads' : '') },
      { title: 'DOES', of: (tool) => tool.description.split('\n')[0] ?? '', shrink: true },
    ])
    out.section(found.calls, [
      { title: 'CALLED', of: (call) => out.time(call.at) },
      { title: 'TOOL', of: (call) => call.tool },
      {
        title: 'OUTCOME',
        of: ({ outcome }) => (outcome === 'ok' ? green : outcome === 'unanswered' ? yellow : red)(outcome),
      },
      { title: 'MS', of: (call) => String(call.ms) },
      { title: 'SESSION', of: (call) => call.session_id?.slice(0, 8) ?? '' },
      { title: 'WITH', of: (call) => call.arguments.join(', '), shrink: true },
    ])
  },
})

export const check = command({
  summary: 'Check a connector now and read its tools',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc connectors check tracker', 'svc connectors check tracker --json'],
  async run({ out, project }, { args }) {
    const found = await project.post('/connectors/{slug}/check', { path: { slug: args.slug } })
    if (out.json) return out.document(found)
    if (found.status === 'ready') return out.line(green('✓ '), bold(found.slug), ` has ${found.tools.length} tools`)
    out.line(red('✗ '), bold(found.slug), `: ${found.error ?? found.status}`)
    if (found.hint !== null) out.note(found.hint)
  },
})

const words = ['allow', 'ask', 'block', 'default'] as const

export const policy = command({
  summary: 'Set what agents may do with the tools of a connector',
  about: [
    "allow: calls run. ask: each call waits for approval. block: agents don't get the tool. default: removes the policy, which allows reads and asks for the rest.",
  ],
  scope: 'project',
  args: { slug: slugArg, policy: { summary: words.join(', ') } },
  flags: { tool: { kind: 'text', summary: 'Name of one tool (default: all)', value: 'name' } },
  examples: ['svc connectors policy tracker ask', 'svc connectors policy tracker allow --tool search'],
  async run({ out, project }, { args, flags }) {
    const word = words.find((one) => one === args.policy)
    if (word === undefined) throw new UsageError(`The policy must be one of ${words.join(', ')}, not ${args.policy}`)
    const said = word === 'default' ? null : word
    const found = await project.patch('/connectors/{slug}/policies', {
      path: { slug: args.slug },
      body: flags.tool === undefined ? { policy: said } : { tools: { [flags.tool]: said } },
    })
    if (out.json) return out.document(found)
    const tool = found.tools.find(({ name }) => name === flags.tool)
    if (tool === undefined) return out.line(green('✓ '), bold(found.slug), ': ', policyOfAll(found))
    out.line(green('✓ '), bold(`${found.slug}/${tool.name}`), ': ', policyLabel(tool.policy))
  },
})

export const approvals = command({
  summary: 'List calls of agents that wait for approval',
  scope: 'project',
  flags: {
    all: { kind: 'switch', summary: 'Include decided and expired calls' },
    session: { kind: 'text', summary: 'Only this session', value: 'id' },
  },
  examples: ['svc connectors approvals', 'svc connectors approvals --all --json'],
  async run({ out, project, next }, { flags }) {
    const found = await project.get('/connector-approvals', {
      query: {
        status: flags.all ? 'all' : 'pending',
        session_id: flags.session,
      },
    })
    out.list(found, found.approvals, 'No calls wait for approval.', [
      { title: 'ID', of: (approval) => approval.approval_id.slice(0, 8) },
      { title: 'STATE', of: (approval) => approval.status },
      { title: 'TOOL', of: (approval) => `${approval.slug}/${approval.tool}` },
      { title: 'SESSION', of: (approval) => approval.session_id?.slice(0, 8) ?? '' },
      { title: 'REQUESTED', of: (approval) => out.time(approval.created_at) },
      { title: 'WITH', of: argumentsLine, shrink: true },
    ])
    if (!flags.all && found.approvals.length > 0) out.note(`Decide: ${next('svc connectors approve <id>')}, or deny`)
  },
})

const deciding = (decision: 'approve' | 'deny', summary: string) =>
  command({
    summary,
    scope: 'project',
    args: { id: { summary: 'Id of the call, or its first characters' } },
    flags: {
      always: {
        kind: 'switch',
        summary: `Also ${decision === 'approve' ? 'allow' : 'block'} later calls of this tool`,
      },
    },
    examples: [`svc connectors ${decision} 1c5f09aa`, `svc connectors ${decision} 1c5f09aa --always`],
    async run(ctx, { args, flags }) {
      const approvalId = await findApproval(ctx, args.id)
      const found = await ctx.project.post('/connector-approvals/{approvalId}/decide', {
        path: { approvalId },
        body: { decision, always: flags.always },
      })
      const { out } = ctx
      if (out.json) return out.document(found)
      const tool = bold(`${found.slug}/${found.tool}`)
      const mark = decision === 'approve' ? green('✓ ') : red('✗ ')
      out.line(mark, tool, ` is ${found.status}: ${argumentsLine(found)}`)
    },
  })

/** A whole id needs no look-up: the server refuses a call that is not waiting. */
async function findApproval(ctx: Context, given: string): Promise<string> {
  if (uuid.test(given)) return given.toLowerCase()
  const { approvals } = await ctx.project.get('/connector-approvals', { query: {} })
  const found = findOne(approvals, given, {
    what: ['waiting call', 'waiting calls'],
    id: (approval) => approval.approval_id,
    next: ['svc connectors approvals'],
  })
  return found.approval_id
}

export const approve = deciding('approve', 'Approve a waiting call')
export const deny = deciding('deny', 'Deny a waiting call')
