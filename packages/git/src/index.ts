export { isDiskFull } from './disk-full.ts'
export { GitError } from './git.ts'
export {
  isSha,
  type CallOptions,
  type RefUpdate,
  type GitHubApi,
  type Remote,
  type Repository,
  type Sha,
  withheldText,
} from './repository.ts'
export { closedNetwork } from './addresses.ts'
export { ArchiveTooLarge, streamArchive } from './archive.ts'
export { overBeforehand, type OverQuota, type PushQuota } from './push-quota.ts'
export { reclaimStore, settleReclaimed, type ReclaimOutcome } from './reclaim.ts'
export { storeBytes } from './store-size.ts'
export { pinnedFetch } from './pinned-fetch.ts'
export { judgeApiUrl, judgeRepositoryUrl, type ApiVerdict, type UrlPolicy, type UrlVerdict } from './url.ts'
export { judgeLocalRepository, type LocalPolicy, type LocalVerdict } from './local-repository.ts'
export { LiveFlights } from './live-flight.ts'
export { readTips, type TipsOutcome } from './tips.ts'
export { checkedOutAt, probeRemote, type ProbeOutcome } from './probe.ts'
export { looksLikePrivateKey, makeSshKeyPair, readPrivateKey } from './ssh-key.ts'
export { learnHostKey } from './ssh-trust.ts'
export { createManagedRepository, hasObjects, missingObjects, openMirror, type BringOutcome } from './mirror.ts'
export { tidyRepository } from './tidy.ts'
export { evictMirror, markUsed, useOfMirror, type EvictOutcome } from './mirror-evict.ts'
export { bringObjects, rebuildMirror } from './mirror-repair.ts'
export { type FetchProgress, runningFetch } from './fetch-progress.ts'
export { laneLoads, type LaneLoad } from './child-queue.ts'
export { removeOrphanedLocks } from './orphaned-locks.ts'
export { sweepScratch } from './scratch.ts'
export { endStanding } from './standing.ts'
export { isBranchName } from './branch-name.ts'
export { noteReplacedWork, pruneReplacedWork } from './replaced-work.ts'
export { bundleWork, keepWork, type KeepWorkOutcome, listKeptWork } from './kept-work.ts'
export { dropKeptRef, isAncestor, keepCommits, keepRef, mergeBase, readKeptRef } from './refs.ts'
export { previewMerge, type MergePreview } from './merge-preview.ts'
export { diffCommits, streamPatch, type Diff } from './diff.ts'
export { diffSince, movedBase, type DiffSince } from './diff-since.ts'
export { type DiffFile } from './diff-reader.ts'
export { landMerge, planMerge, type LandOutcome, type MergePlan } from './merge.ts'
export { createBranch, type CreateBranchOutcome } from './branch.ts'
export { scanAddedText, type AddedBlock, type ScanOutcome } from './added-text.ts'
export { commitFileOnBranch } from './commit-file.ts'
export { branchRules, openPullRequest, type PullRequest, readPullRequest } from './hosts/pull-request.ts'
export { gitHubRepository } from './hosts/github-api.ts'
export { makeGitHubApp, type AppTokenOutcome, type GitHubApp } from './hosts/github-app.ts'
export { findCollisions } from './collisions.ts'
export { gitVersion, replayMerge, treeOf, type Replay } from './replay.ts'
export {
  countApart,
  countBeyond,
  firstParents,
  isContained,
  listCommits,
  listTree,
  readFileAt,
  streamFile,
  type CommitEntry,
  type FileOutcome,
  type TreeEntry,
} from './browse.ts'
export { allowOnlyBranch, type PushGate, type PushInspector } from './gate.ts'
export { serveGitRequest, type GitRequest, type ServeOptions } from './smart-http.ts'
export { serveGateway, type GatewayOptions } from './gateway.ts'
