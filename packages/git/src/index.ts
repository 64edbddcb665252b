export { GitError } from './git.ts'
export { isSha, type CallOptions, type RefUpdate, type Remote, type Repository, type Sha } from './repository.ts'
export { judgeRepositoryUrl, type UrlVerdict } from './url.ts'
export { readTips, type TipsOutcome } from './tips.ts'
export { probeRemote, type ProbeOutcome } from './probe.ts'
export {
  bringObjects,
  createManagedRepository,
  openMirror,
  rebuildMirror,
  tidyRepository,
  type BringOutcome,
} from './mirror.ts'
export { isBranchName } from './branch-name.ts'
export { isAncestor, keepCommits, keepRef, mergeBase, readKeptRef } from './refs.ts'
export { previewMerge, type MergePreview } from './merge-preview.ts'
export { diffCommits, streamPatch, type Diff, type DiffFile } from './diff.ts'
export { landMerge, planMerge, type LandOutcome, type MergePlan } from './merge.ts'
export { createBranch, type CreateBranchOutcome } from './branch.ts'
export { listCommits, listTree, readFileAt, type CommitEntry, type FileOutcome, type TreeEntry } from './browse.ts'
export { allowOnlyBranch, type PushGate, type PushInspector } from './gate.ts'
export { serveGitRequest, type GitRequest, type ServeOptions } from './smart-http.ts'
export { serveGateway, type GatewayOptions } from './gateway.ts'
