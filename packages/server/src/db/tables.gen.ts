// Made by packages/server/generate-tables.ts from the migrations; edit those, and the types of JSON in columns.ts.
import type { Generated } from 'kysely'
import type { Described, Json, JsonOrDefault, Now, Timestamp } from './columns.ts'

export interface Schema {
  account_members: {
    account_id: string
    user_id: string
    role: 'owner' | 'admin' | 'member' | 'viewer'
    created_at: Now
  }
  accounts: {
    account_id: string
    name: string
    plan: 'free' | 'pro' | 'team' | 'selfhost'
    created_at: Now
    model_tokens_per_month: number | null
  }
  agent_session_starts: {
    root_session_id: string
    project_id: string
    began_at: Now
    started: number
  }
  app_deploys: {
    deploy_id: string
    project_id: string
    slug: string
    number: number
    status: Generated<'queued' | 'building' | 'starting' | 'running' | 'restarting' | 'replaced' | 'stopped' | 'failed' | 'cancelled'>
    hash: string
    commit_sha: string
    definition: Json<'app_deploys.definition'>
    cause: 'default_branch' | 'request' | 'rollback'
    rollback_of: number | null
    error: string | null
    created_by: string | null
    instance_id: string | null
    sandbox_id: string | null
    attempts: Generated<number>
    next_attempt_at: Timestamp | null
    created_at: Now
    ready_at: Timestamp | null
    ended_at: Timestamp | null
    in_force: Json<'app_deploys.in_force'> | null
    log_read: Json<'app_deploys.log_read'> | null
  }
  app_grants: {
    sha256: Buffer
    is_ticket: boolean
    project_id: string
    slug: string
    user_id: string
    expires_at: Timestamp
    token_id: string | null
  }
  app_log_chunks: {
    chunk_id: Generated<number>
    deploy_id: string
    lines: Json<'app_log_chunks.lines'>
    bytes: number
  }
  app_reconciliations: {
    project_id: string
    sha: string | null
    branch: string
    secrets_revision: number
    provider: string
  }
  apps: {
    project_id: string
    slug: string
    position: number
    definition: Json<'apps.definition'>
    enabled: boolean
    host: string
    desired: Generated<'running' | 'stopped'>
    hash: string | null
    commit_sha: string | null
    live_deploy_id: string | null
    next_number: Generated<number>
    created_at: Now
  }
  audit_events: {
    event_id: Generated<number>
    at: Now
    account_id: string | null
    project_id: string | null
    actor_kind: string
    actor_user_id: string | null
    token_id: string | null
    session_id: string | null
    request_id: string | null
    address: string | null
    action: string
    object_type: string
    object_id: string
    before: Json<'audit_events.before'> | null
    after: Json<'audit_events.after'> | null
  }
  change_request_checks: {
    cr_id: string
    base_sha: string
    head_sha: string
    can_merge: boolean
    checked_at: Now
  }
  change_request_collisions: {
    cr_id: string
    other_id: string
    commits: string
    files: string[]
  }
  change_request_facts: {
    cr_id: string
    pair: string
    is_up_to_date: boolean
    conflicts: string[]
    conflict_count: number
    additions: number | null
    deletions: number | null
    paths: string[]
    path_count: number
    is_compared: Generated<boolean>
    confirm_count: Generated<number>
    manifest_invalid: Generated<boolean>
  }
  change_request_heads: {
    cr_id: string
    head_sha: string
    seen_at: Now
  }
  change_request_reviews: {
    review_id: string
    cr_id: string
    head_sha: string
    body: string
    comments: Json<'change_request_reviews.comments'>
    created_by: string | null
    session_id: string | null
    created_at: Now
    checked_sha: string | null
    related_sha: string | null
    related_at: Timestamp | null
  }
  change_request_trees: {
    cr_id: string
    project_id: string
    base_sha: string
    head_sha: string
    kind: 'tree' | 'conflicted' | 'up-to-date' | 'unavailable'
    tree_sha: string | null
    reason: string | null
    looked_at: Now
  }
  change_request_versions: {
    cr_id: string
    number: number
    from_sha: string | null
    head_sha: string
    base_sha: string | null
    seen_at: Now
  }
  change_requests: {
    cr_id: string
    account_id: string
    project_id: string
    number: number
    title: string
    description: Generated<string>
    base_ref: string
    head_ref: string
    status: Generated<'open' | 'merged' | 'closed'>
    head_commit_sha: string | null
    base_commit_sha: string | null
    origin_session_id: string | null
    created_by: string | null
    merged_at: Timestamp | null
    merged_by: string | null
    merge_commit_sha: string | null
    closed_at: Timestamp | null
    closed_by: string | null
    metadata: JsonOrDefault<'change_requests.metadata'>
    created_at: Now
    updated_at: Now
    missing_ref: string | null
    merge_lost_at: Timestamp | null
    merge_lost_server: string | null
  }
  channel_cards: {
    channel_id: string
    cr_id: string
    compared: string | null
    facts: Json<'channel_cards.facts'> | null
    told: string | null
  }
  channel_events: {
    event_row_id: Generated<number>
    channel_id: string
    delivery_id: string
    subject_id: string
    thread_key: string
    kind: 'prompt' | 'action' | 'command'
    payload: Json<'channel_events.payload'>
    planned_id: string
    status: Generated<'waiting' | 'done' | 'refused'>
    reason: string | null
    attempts: Generated<number>
    next_try_at: Timestamp | null
    instance_id: string | null
    claimed_at: Timestamp | null
    created_at: Now
  }
  channel_link_codes: {
    sha256: Buffer
    channel_id: string
    workspace_id: string
    chat_user_id: string
    chat_user_name: string
    chat_user_email: string | null
    user_id: string | null
    expires_at: Timestamp
    used_at: Timestamp | null
  }
  channel_links: {
    link_id: string
    account_id: string
    platform: 'slack'
    workspace_id: string
    workspace_name: string
    chat_user_id: string
    chat_user_name: string
    user_id: string
    created_at: Now
  }
  channel_messages: {
    message_id: string
    seq: Generated<number>
    channel_id: string
    message_key: string
    kind: 'answer' | 'state' | 'card' | 'reply'
    thread_key: string
    thread_id: string | null
    recipient: string | null
    body: Json<'channel_messages.body'>
    wanted: Generated<number>
    sent: Generated<number>
    external_id: string | null
    attempts: Generated<number>
    error: string | null
    next_try_at: Timestamp | null
    given_up_at: Timestamp | null
    instance_id: string | null
    claimed_at: Timestamp | null
    sent_at: Timestamp | null
    created_at: Now
    updated_at: Now
  }
  channel_threads: {
    thread_id: string
    channel_id: string
    thread_key: string
    session_id: string | null
    started_by: string | null
    chat_user_id: string
    chat_user_name: string
    told: string | null
    created_at: Now
  }
  channels: {
    channel_id: string
    project_id: string
    account_id: string
    platform: 'slack'
    workspace_id: string
    workspace_name: string
    bot_user_id: string
    bot_name: string
    conversation_id: string
    conversation_name: string
    shared_externally: boolean
    sealed: Buffer
    version: number
    allow_unlinked: boolean
    connected_by: string | null
    error: string | null
    paused_until: Timestamp | null
    looked_at: Timestamp | null
    created_at: Now
    updated_at: Now
  }
  check_log_chunks: {
    chunk_id: Generated<number>
    run_id: string
    lines: Json<'check_log_chunks.lines'>
    bytes: number
  }
  check_runs: {
    run_id: string
    account_id: string
    project_id: string
    tree_sha: string
    definition_hash: string
    name: string
    command: string
    status: Generated<'queued' | 'running' | 'passed' | 'failed' | 'error' | 'cancelled'>
    attempt: Generated<number>
    exit_code: number | null
    reason: string | null
    instance_id: string | null
    sandbox_id: string | null
    starts: Generated<number>
    log_cut: Generated<boolean>
    created_at: Now
    started_at: Timestamp | null
    ended_at: Timestamp | null
    in_force: Json<'check_runs.in_force'> | null
    log_read: Json<'check_runs.log_read'> | null
  }
  cli_logins: {
    sha256: Buffer
    challenge: string
    name: string
    user_id: string
    expires_at: Timestamp
    used_at: Timestamp | null
  }
  connector_approvals: {
    approval_id: string
    project_id: string
    session_id: string | null
    slug: string
    tool: string
    url: string
    arguments: Json<'connector_approvals.arguments'>
    arguments_sha256: Buffer
    status: Generated<'pending' | 'approved' | 'denied' | 'used'>
    requested_by: string | null
    decided_by: string | null
    decided_at: Timestamp | null
    created_at: Timestamp
    expires_at: Timestamp
  }
  connector_policies: {
    project_id: string
    slug: string
    tool: string
    url: string
    policy: 'allow' | 'ask' | 'block'
    decided_by: string | null
    decided_at: Now
  }
  connector_reconciliations: {
    project_id: string
    sha: string | null
    branch: string
  }
  connectors: {
    project_id: string
    slug: string
    position: number
    definition: Json<'connectors.definition'>
    status: 'unchecked' | 'ready' | 'failed'
    error: string | null
    hint: string | null
    tools: Json<'connectors.tools'>
    checked_at: Timestamp | null
    check_due_at: Timestamp | null
    failures: Generated<number>
    secrets_revision: number
  }
  copy_failures: {
    project_id: string
    epoch: number
    error: string
  }
  dashboard_sessions: {
    sha256: Buffer
    user_id: string
    created_at: Now
    expires_at: Timestamp
    dashboard_session_id: Generated<string>
    began_by: Generated<'link' | 'password' | 'oidc'>
    address: string | null
    user_agent: string | null
    last_used_at: Timestamp | null
    confirmed_at: Timestamp | null
    confirmed_by: 'link' | 'password' | 'oidc' | null
  }
  database_move: {
    singleton: Generated<boolean>
    move_id: string
    state: string
    other: string
    changed_at: Now
  }
  default_branches: {
    project_id: string
    branch: string
    sha: string | null
    manifest: Json<'default_branches.manifest'>
    issues: Json<'default_branches.issues'>
    moved_at: Timestamp
    checked_at: Timestamp
  }
  deleted_sandboxes: {
    sandbox_id: string
    account_id: string
    project_id: string
    session_id: string
    began_at: Timestamp
    ended_at: Timestamp
  }
  deletion_clock: {
    singleton: Generated<boolean>
    seen_at: Timestamp
    jumped_from: Timestamp | null
    waits_until: Timestamp | null
  }
  given_secrets: {
    session_id: string
    project_id: string
    sealed_sha256: Buffer
    given_at: Now
  }
  held: {
    singleton: Generated<boolean>
    backup_id: string
    backup_created_at: Timestamp
    held_at: Now
  }
  host_landings: {
    cr_id: string
    project_id: string
    number: number | null
    url: string | null
    created_by: string | null
    caller: Json<'host_landings.caller'>
    created_at: Timestamp
    checked_at: Now
    next_check_at: Now | null
  }
  host_webhooks: {
    project_id: string
    secret: Buffer
    created_at: Now
    last_call_at: Timestamp | null
    last_sender: string | null
  }
  idempotency_keys: {
    scope: string
    key: string
    request_sha256: Buffer
    resource_id: string
    instance_id: string
    status: number | null
    body: Json<'idempotency_keys.body'> | null
    created_at: Now
  }
  inbox_marks: {
    user_id: string
    item_key: string
    version: string
    failure: string | null
    snoozed_until: Timestamp | null
    marked_at: Now
  }
  installation: {
    singleton: Generated<boolean>
    installation_id: string
    master_key_id: string
    created_at: Now
  }
  invitations: {
    invitation_id: string
    account_id: string
    email: string
    name: string
    role: 'owner' | 'admin' | 'member' | 'viewer'
    sha256: Buffer | null
    admits_address: boolean
    invited_by: string | null
    created_at: Now
    expires_at: Timestamp
    accepted_at: Timestamp | null
    revoked_at: Timestamp | null
  }
  kept_secrets: {
    project_id: string
    sealed_sha256: Buffer
    name: string
    version: number
    sealed: Buffer
    kept_at: Now
  }
  merge_attempts: {
    attempt_id: string
    cr_id: string
    project_id: string
    base_ref: string
    base_sha: string
    head_sha: string
    result_sha: string
    kind: 'fast-forward' | 'merge-commit' | 'up-to-date'
    message: string
    commit_date: Timestamp
    merged_by: string | null
    caller: Json<'merge_attempts.caller'>
    idempotency_key: string | null
    state: Generated<'intended' | 'landed' | 'abandoned'>
    reason: string | null
    created_at: Now
    settled_at: Timestamp | null
  }
  model_reservations: {
    reservation_id: string
    account_id: string
    project_id: string
    session_id: string
    instance_id: string
    model: string
    tokens_in: number
    tokens_out: number
    created_at: Now
  }
  model_upstream: {
    singleton: Generated<boolean>
    revision: string
    url: string
    shape: 'openai' | 'anthropic'
    models: string[]
    data_key: Buffer | null
    sealed_key: Buffer | null
    updated_by: string | null
    updated_at: Timestamp
  }
  model_usage: {
    account_id: string
    project_id: string
    session_id: string
    day: string
    model: string
    calls: number
    tokens_in: number
    tokens_out: number
  }
  notices_seen: {
    user_id: string
    event_id: number
  }
  owner_links: {
    sha256: Buffer
    user_id: string
    expires_at: Timestamp
    used_at: Timestamp | null
  }
  preview_grants: {
    sha256: Buffer
    is_ticket: boolean
    session_id: string
    port: number
    user_id: string
    created_at: Now
    expires_at: Timestamp
    token_id: string | null
  }
  project_event_counters: {
    project_id: string
    last: number
    forgotten: Generated<number>
  }
  project_events: {
    event_id: Generated<number>
    project_id: string
    number: number | null
    type: string
    actor_user_id: string | null
    actor_session_id: string | null
    data: Json<'project_events.data'>
    created_at: Now
  }
  project_looks: {
    project_id: string
    looked_at: Timestamp
    wanted_at: Timestamp
    next_poll_at: Timestamp | null
  }
  project_moves: {
    move_id: string
    project_id: string
    from_server: string
    to_server: string
    home_epoch: number
    phase: Generated<'copying' | 'copied' | 'frozen' | 'done' | 'failed'>
    cause: 'request' | 'balance' | 'drain'
    is_forced: Generated<boolean>
    requested_by: string | null
    requested_at: Now
    phase_at: Now
    progress_at: Now
    passes: Generated<number>
    attempts: Generated<number>
    waits_for: string | null
    error: string | null
    sessions: Generated<string[]>
    ended_at: Timestamp | null
    removed_at: Timestamp | null
  }
  project_replicas: {
    project_id: string
    server: string
    epoch: number
    acknowledged_seq: number
    applied_seq: number
    filled_at: Now
  }
  project_sessions: {
    session_id: string
    account_id: string
    project_id: string
    name: string
    branch_name: string
    base_ref: string
    agent_name: string
    model: string | null
    status: 'queued' | 'branching' | 'provisioning' | 'running' | 'stopped' | 'failed' | 'completed'
    desired: Generated<'running' | 'stopped'>
    generation: Generated<number>
    error: string | null
    initial_prompt: string | null
    initial_prompt_delivered_at: Timestamp | null
    created_by: string | null
    metadata: JsonOrDefault<'project_sessions.metadata'>
    created_at: Now
    updated_at: Now
    last_active_at: Now
    asked_as: string | null
    is_busy: Generated<boolean>
    stop_reason: string | null
    parent_session_id: string | null
    ancestors: Generated<string[]>
    unkept_work: string | null
    last_turn_error: Json<'project_sessions.last_turn_error'> | null
    first_turn_ended_at: Timestamp | null
    first_turn_error: Json<'project_sessions.first_turn_error'> | null
    refresh: Json<'project_sessions.refresh'> | null
    next_sandbox_id: Generated<string>
    request_sha256: Buffer | null
    transcript_deleted_at: Timestamp | null
    continues_session_id: string | null
    continues_message_id: string | null
    start_sha: string | null
    branch_deleted_at: Timestamp | null
    acts_for: string | null
  }
  projects: {
    project_id: string
    account_id: string
    slug: string
    name: string
    repo_url: string
    default_branch: string
    managed: boolean
    config_dir: Generated<string>
    settings: JsonOrDefault<'projects.settings'>
    next_cr_number: Generated<number>
    data_key: Buffer
    git_username: string | null
    git_token: Buffer | null
    secrets_revision: Generated<number>
    created_at: Now
    updated_at: Now
    ssh_public_key: string | null
    data_key_wrapped_by: string | null
    deleted_at: Timestamp | null
    deleted_by: string | null
    deleted_slug: string | null
    purge_at: Timestamp | null
    restored_at: Timestamp | null
    home: string | null
    home_epoch: Generated<number>
    home_state: Generated<'open' | 'closing' | 'frozen'>
  }
  protected_branches: {
    project_id: string
    branch: string
    reason: string
    found_by: 'api' | 'push'
    found_at: Timestamp
  }
  ref_changes: {
    project_id: string
    seq: number
    ref: string
    old_sha: string | null
    new_sha: string | null
    epoch: number
    at: Now
  }
  ref_counters: {
    project_id: string
    seq: number
  }
  review_comments: {
    comment_id: string
    review_id: string
    cr_id: string
    position: number
    outcome: 'done' | 'declined' | null
    commit_sha: string | null
    answered_head_sha: string | null
    answered_at: Timestamp | null
    resolved_at: Timestamp | null
    resolved_by: string | null
    current_path: string | null
    current_line: number | null
    current_start_line: number | null
    outdated: Generated<boolean>
  }
  review_drafts: {
    draft_id: string
    cr_id: string
    user_id: string
    comment: Json<'review_drafts.comment'>
    created_at: Now
  }
  review_replies: {
    reply_id: string
    comment_id: string
    text: string
    outcome: 'done' | 'declined' | null
    commit_sha: string | null
    created_by: string | null
    session_id: string | null
    created_at: Now
  }
  review_settings: {
    user_id: string
    file_order: 'folders' | 'guided'
  }
  review_viewed_files: {
    cr_id: string
    user_id: string
    path: string
    version: string
  }
  review_visits: {
    cr_id: string
    user_id: string
    head_sha: string
    visited_at: Timestamp
    earlier_head_sha: string | null
    earlier_visited_at: Timestamp | null
  }
  root_keys: {
    root_key_id: string
    master_key_id: string
    wrapped: Buffer
    position: Generated<number>
    created_at: Now
  }
  sandbox_credentials: {
    credential_id: string
    kind: 'service' | 'clone' | 'model'
    sha256: Buffer
    project_id: string
    session_id: string
    sandbox_id: string
    generation: number
    user_id: string
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
  }
  secrets: {
    project_id: string
    name: string
    version: number
    sealed: Buffer
    value_bytes: number
    created_by: string | null
    created_at: Now
    updated_at: Now
  }
  server_instances: {
    instance_id: string
    started_at: Now
    heartbeat_at: Now
    lock_taken_at: Timestamp | null
    knows_root_key: Generated<boolean>
    data_folder: string | null
    lock_lost_at: Timestamp | null
    server_name: string | null
    peer_url: string | null
    clock_ahead_seconds: number | null
    disk_low: boolean | null
  }
  servers: {
    server_name: string
    data_folder: string
    peer_url: string | null
    started_at: Now
    draining_since: Timestamp | null
    keeps_replicas: Generated<boolean>
    taken_over_at: Timestamp | null
    last_seen_at: Timestamp | null
    instance_id: string | null
    settings: Json<'servers.settings'> | null
    sandboxes_ready: boolean | null
    sandbox_problem: string | null
  }
  session_attachments: {
    attachment_id: string
    session_id: string
    prompt_id: string
    position: number
    name: string
    content_type: string
    bytes: number
    content: Buffer
    created_at: Now
  }
  session_branches: {
    project_id: string
    branch: string
    made_at: Now
    looked_at: Timestamp | null
    deleting_at: Timestamp | null
    refusal: string | null
  }
  session_messages: {
    session_id: string
    message_id: string
    generation: number
    role: Described['session_messages.role']
    created_at: Timestamp
    completed_at: Timestamp | null
    error: string | null
    parts: JsonOrDefault<'session_messages.parts'>
    updated_at: Now
    bytes: number | null
    error_code: string | null
  }
  session_phases: {
    session_id: string
    generation: number
    position: number
    name: string
    started_at: Timestamp
    ms: number | null
    error: string | null
    note: string | null
  }
  session_prompts: {
    prompt_id: string
    session_id: string
    text: string
    status: Generated<'accepted' | 'delivered' | 'failed' | 'cancelled'>
    error: string | null
    created_by: string | null
    created_at: Now
    delivered_at: Timestamp | null
    error_code: string | null
    settled_at: Timestamp | null
    delivery_generation: number | null
    agent_name: string | null
    model: string | null
  }
  session_questions: {
    question_id: string
    session_id: string
    generation: number
    kind: 'permission' | 'question' | 'connector'
    runtime_id: string | null
    position: Generated<number>
    multiple: Generated<boolean>
    title: string
    detail: string
    options: Json<'session_questions.options'>
    status: Generated<'open' | 'answered' | 'expired'>
    answer: string | null
    answered_by: string | null
    answered_at: Timestamp | null
    reason: string | null
    asked_at: Now
    expires_at: Timestamp | null
    note: Generated<string>
  }
  session_sandboxes: {
    sandbox_id: string
    session_id: string
    driver: string
    external_id: string | null
    status: 'provisioning' | 'active' | 'stopped' | 'error' | 'archived'
    generation: number
    endpoint: string | null
    instance_id: string
    error: string | null
    created_at: Now
    updated_at: Now
    last_active_at: Now
    in_force: Json<'session_sandboxes.in_force'> | null
    asleep_since: Timestamp | null
  }
  session_snapshots: {
    project_id: string
    session_id: string
    commit_sha: string
    bytes: number
    kept_at: Now
  }
  session_wip: {
    session_id: string
    generation: number
    commit_sha: string
    base_sha: string | null
    files: number
    unpushed_commits: number
    paths: JsonOrDefault<'session_wip.paths'>
    notes: JsonOrDefault<'session_wip.notes'>
    saved_at: Now
    recovered_at: Timestamp | null
    recovered_into: number | null
    returns: Generated<boolean>
    lost_at: Timestamp | null
  }
  sign_in_attempts: {
    attempt_id: string
    email_sha256: Buffer
    address: string
    at: Timestamp
  }
  sign_in_limits: {
    sha256: Buffer
    tries: number
    allowed_at: Timestamp
    expires_at: Timestamp
  }
  tokens: {
    token_id: string
    sha256: Buffer
    name: string
    user_id: string
    project_id: string | null
    session_id: string | null
    generation: number | null
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
    last_used_at: Timestamp | null
    minted_by: string | null
    mints_once: Generated<boolean>
  }
  trigger_reconciliations: {
    project_id: string
    sha: string | null
    branch: string
  }
  trigger_slots: {
    slot_id: string
    project_id: string
    slug: string
    kind: 'cron' | 'webhook' | 'manual'
    slot_key: string
    due_at: Timestamp
    status: 'claimed' | 'fired' | 'skipped'
    reason: string | null
    caught_up: Generated<boolean>
    planned_session_id: string
    session_id: string | null
    fired_at: Timestamp | null
    plan: Json<'trigger_slots.plan'> | null
    instance_id: string
    claimed_at: Now
    created_at: Now
  }
  triggers: {
    project_id: string
    slug: string
    position: number
    type: 'cron' | 'webhook'
    definition: Json<'triggers.definition'>
    enabled: boolean
    appeared_at: Timestamp
    next_due_at: Timestamp | null
    last_fired_at: Timestamp | null
    run_as: string | null
  }
  trusted_devices: {
    sha256: Buffer
    user_id: string
    created_at: Now
    expires_at: Timestamp
  }
  turn_snapshots: {
    project_id: string
    session_id: string
    message_id: string
    commit_sha: string
    base_sha: string
    saved_at: Timestamp
  }
  user_identities: {
    issuer: string
    subject: string
    user_id: string
    created_at: Now
    email: string | null
  }
  user_passwords: {
    user_id: string
    hash: string
    changed_at: Timestamp
  }
  users: {
    user_id: string
    name: string
    email: string | null
    created_at: Now
  }
  wanted_change_request_facts: {
    cr_id: string
    project_id: string
    wanted_at: Now
    tried_at: Timestamp | null
  }
  warm_sandboxes: {
    sandbox_id: string
    session_id: string
    project_id: string
    instance_id: string
    driver: string
    external_id: string | null
    endpoint: string | null
    status: Generated<'filling' | 'ready'>
    fingerprint: string
    commit_sha: string | null
    service_sha256: Buffer
    token_sha256: Buffer
    model_sha256: Buffer
    read_sha256: Buffer | null
    read_expires_at: Timestamp | null
    created_at: Now
    updated_at: Now
    in_force: Json<'warm_sandboxes.in_force'> | null
  }
  webhook_deliveries: {
    delivery_id: string
    webhook_id: string
    event_number: number | null
    event_type: string
    status: Generated<'waiting' | 'delivered' | 'failed'>
    by_hand: Generated<boolean>
    attempts: Generated<number>
    http_status: number | null
    error: string | null
    answer: string | null
    ms: number | null
    created_at: Now
    last_attempt_at: Timestamp | null
  }
  webhooks: {
    webhook_id: string
    project_id: string
    url: string
    events: Json<'webhooks.events'>
    secret: Buffer
    cursor: number
    attempts: Generated<number>
    failing_since: Timestamp | null
    next_attempt_at: Timestamp | null
    last_error: string | null
    paused_reason: string | null
    lease_by: string | null
    lease_until: Now
    created_by: string | null
    created_at: Now
    updated_at: Now
  }
}
