import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { page, pageOfWhole, route, timestamp, uuid } from './route.ts'

/** The gateway speaks MCP, so its bodies are that protocol's; only its place is ours. */
export const mcpGatewayPath = '/v1/mcp'
/** Names the project for whoever comes with a user token, which is bound to none. */
export const mcpProjectHeader = 'x-svc-project'
/** The name under which the agent runtime knows the gateway; it stands before the names of its tools. */
export const mcpServerName = 'svc'

export const connectorPolicies = ['allow', 'ask', 'block'] as const
export type ConnectorPolicy = (typeof connectorPolicies)[number]

/** A call waits so long for a person; its question stays open longer, and the agent may ask again. */
export const approvalWaitSeconds = 120
export const approvalOpenSeconds = 15 * 60
export const approvalsPendingMax = 20
export const connectorCallsPerMinuteMax = 60

const toolName = z.string().min(1).max(200)
const policy = z.enum(connectorPolicies)

export const connectorTool = z.object({
  /** As the connector calls it. */
  name: z.string(),
  /** As the gateway offers it to agents. */
  offered_as: z.string(),
  description: z.string(),
  /** The connector says that it changes nothing. */
  read_only: z.boolean(),
  /** What holds for it now. */
  policy,
  /** What a person decided for it; null: the connector's policy holds, or the usual one. */
  decided: policy.nullable(),
})

export const connector = z.object({
  slug: z.string(),
  type: z.enum(['mcp', 'http']),
  url: z.string(),
  auth: z
    .object({
      type: z.enum(['bearer', 'header', 'oauth']),
      secret_env: z.string().nullable(),
      header: z.string().nullable(),
    })
    .nullable(),
  /** `unchecked`: its tools were not asked for yet. `off`: the operator offers no connectors. */
  status: z.enum(['unchecked', 'ready', 'failed', 'off']),
  /** Why its tools are absent. */
  error: z.string().nullable(),
  hint: z.string().nullable(),
  checked_at: timestamp.nullable(),
  /** What a person decided for all its tools; null: reading is allowed, and the rest asks. */
  policy: policy.nullable(),
  tools: z.array(connectorTool),
})
export type Connector = z.infer<typeof connector>
export type ConnectorTool = z.infer<typeof connectorTool>

export const connectorCall = z.object({
  at: timestamp,
  session_id: uuid.nullable(),
  tool: z.string(),
  outcome: z.enum(['ok', 'tool_error', 'failed', 'blocked', 'denied', 'unanswered', 'refused']),
  ms: z.number().int(),
  /** The names of what was given, never the values. */
  arguments: z.array(z.string()),
})
export type ConnectorCall = z.infer<typeof connectorCall>

export const connectorApproval = z.object({
  approval_id: uuid,
  session_id: uuid.nullable(),
  slug: z.string(),
  tool: z.string(),
  /** What the agent wants to send, without the values of secrets. */
  arguments: z.record(z.string(), z.json()),
  status: z.enum(['pending', 'approved', 'denied', 'used', 'expired']),
  decided_by: uuid.nullable(),
  decided_at: timestamp.nullable(),
  created_at: timestamp,
  expires_at: timestamp,
})
export type ConnectorApproval = z.infer<typeof connectorApproval>

const base = '/v1/projects/:projectId/connectors'
const approvals = '/v1/projects/:projectId/connector-approvals'

export const listConnectorsRoute = route({
  name: 'listConnectors',
  summary: 'The connectors of svc.toml on the default branch with their tools, and why some have none',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: 'connectors', by: 'slug' },
  reply: z.object({
    connectors: z.array(connector),
    errors: z.array(manifestIssue),
    provider: z.enum(['mcp', 'none']),
    gateway_url: z.string(),
    approvals_pending: z.number().int(),
  }),
})

export const getConnectorRoute = route({
  name: 'getConnector',
  summary: 'One connector with its newest calls',
  method: 'GET',
  path: `${base}/:slug`,
  access: 'project-read',
  reply: connector.extend({ calls: z.array(connectorCall) }),
})

export const checkConnectorRoute = route({
  name: 'checkConnector',
  summary: 'Ask a connector for its tools now',
  method: 'POST',
  path: `${base}/:slug/check`,
  access: 'project-write',
  effect: 'adds',
  reply: connector,
})

export const setConnectorPolicyRoute = route({
  name: 'setConnectorPolicy',
  summary: 'Say what agents may do with the tools of a connector; a person says it, no agent',
  method: 'PATCH',
  path: `${base}/:slug/policies`,
  access: 'project-write',
  effect: 'adds',
  body: z
    .object({
      /** For all its tools; null takes it back. */
      policy: policy.nullable().optional(),
      /** For single ones. */
      tools: z
        .record(toolName, policy.nullable())
        .refine((tools) => Object.keys(tools).length <= 200, 'names more than 200 tools')
        .optional(),
    })
    .refine((body) => body.policy !== undefined || body.tools !== undefined, 'has neither policy nor tools'),
  reply: connector,
})

export const listConnectorApprovalsRoute = route({
  name: 'listConnectorApprovals',
  summary: 'Calls of connectors that wait for a person, or were decided lately; newest first',
  method: 'GET',
  path: approvals,
  access: 'project-read',
  query: z.object({
    status: z.enum(['pending', 'all']).default('pending'),
    session_id: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: page.shape.cursor,
  }),
  reply: z.object({ approvals: z.array(connectorApproval) }),
})

export const decideConnectorApprovalRoute = route({
  name: 'decideConnectorApproval',
  summary: 'Approve or deny a call that waits, once or from now on; a person does it, no agent',
  method: 'POST',
  path: `${approvals}/:approvalId/decide`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({
    decision: z.enum(['approve', 'deny']),
    /** Also for the calls of this tool to come: they are allowed, or blocked. */
    always: z.boolean().optional(),
  }),
  reply: connectorApproval,
})
