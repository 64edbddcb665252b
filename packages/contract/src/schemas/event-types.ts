/** The types of project events. Loads no zod: clients list them too. */
export const changeRequestEventTypes = [
  'change_request.opened',
  'change_request.updated',
  'change_request.conflicted',
  'change_request.clean',
  'change_request.reviewed',
  'change_request.merged',
  'change_request.closed',
  'change_request.reopened',
] as const

export const sessionEventTypes = [
  'session.provisioning',
  'session.running',
  'session.turn_ended',
  'session.refreshed',
  'session.stopped',
  'session.failed',
  'session.deleted',
  'session.question_asked',
  'session.question_answered',
] as const

export const triggerEventTypes = ['trigger.fired', 'trigger.missed'] as const

export const deployEventTypes = ['deploy.started', 'deploy.live', 'deploy.failed', 'deploy.stopped'] as const

/** Sent for each open change request whose merge has the files that the check ran on. */
export const checkEventTypes = ['check.started', 'check.finished'] as const

export const projectEventTypes = [
  ...changeRequestEventTypes,
  ...sessionEventTypes,
  ...triggerEventTypes,
  ...deployEventTypes,
  ...checkEventTypes,
  'default_branch.moved',
] as const
export type ProjectEventType = (typeof projectEventTypes)[number]
