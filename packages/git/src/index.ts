/**
 * Git as functions. This package knows no project, no database, and no request.
 *
 * Its folders have an order, and each imports only from the folders before it:
 * process < formats < objects < remote < refs < receive < mirror < hosts < diff < merge < serve
 *
 * process   starts git, within limits          mirror   bare mirrors and managed repositories on disk
 * formats   parses what git prints and sends   hosts    branches, files, and pull requests on a git host
 * objects   reads and writes the object store  diff     diffs, trees, and archives of pinned commits
 * remote    checks and connects to remote URLs merge    previews, merge commits, and landing
 * refs      reads and moves refs               serve    the smart HTTP server
 * receive   checks and ingests pushed objects
 */
export { pathBytes, pathText } from './formats/paths.ts'
export { isDiskFull } from './process/disk-full.ts'
export { GitError } from './process/git.ts'
export { afterRunning } from './process/running-time.ts'
export {
  isSha,
  isZero,
  type CallOptions,
  type RefUpdate,
  type RefValue,
  type GitHubApi,
  type Remote,
  type Repository,
  type Sha,
  withheldText,
  zeroSha,
} from './repository.ts'
export { closedNetwork } from './remote/addresses.ts'
export { ArchiveTooLarge, streamArchive } from './diff/archive.ts'
export { overBeforehand, type OverQuota, type PushQuota } from './receive/push-quota.ts'
export { reclaimStore, settleReclaimed } from './mirror/reclaim.ts'
export { storeBytes } from './objects/store-size.ts'
export { pinnedFetch } from './remote/pinned-fetch.ts'
export { judgeApiUrl, judgeRepositoryUrl, type UrlPolicy, type UrlVerdict } from './remote/url.ts'
export { judgeLocalRepository } from './remote/local-repository.ts'
export { LiveFlights } from './refs/single-flight.ts'
export { readTips, type TipsOutcome } from './refs/tips.ts'
export { checkedOutAt, probeRemote, type ProbeOutcome } from './mirror/probe.ts'
export { looksLikePrivateKey, makeSshKeyPair, readPrivateKey } from './remote/ssh-key.ts'
export { learnHostKey } from './remote/ssh-trust.ts'
export {
  createManagedRepository,
  hasObjects,
  lostObjects,
  missingObjects,
  openMirror,
  type FetchOutcome,
} from './mirror/mirror.ts'
export { followDefaultBranch, setHead } from './mirror/head.ts'
export { tidyRepository } from './mirror/tidy.ts'
export {
  type CopyManifest,
  fetchCopy,
  finishCopy,
  isSameCopy,
  parseCopyManifest,
  placeCopy,
  readCopyManifest,
} from './mirror/copy.ts'
export { missingLinks, notContained, whyUnreadable } from './mirror/examine.ts'
export { damagedFiles, readChecksummed } from './objects/verify-files.ts'
export { restoreCopy } from './mirror/restore-copy.ts'
export { evictMirror, markUsed, useOfMirror } from './mirror/evict.ts'
export { fetchObjects } from './mirror/repair.ts'
export { runningFetch } from './process/fetch-progress.ts'
export { laneLoads } from './process/child-queue.ts'
export { type GitObserver, observeGit } from './process/observe.ts'
export { removeOrphanedLocks } from './refs/orphaned-locks.ts'
export { placeOf, sweepScratch } from './process/scratch.ts'
export { orIfAbsent } from './process/absent.ts'
export { endPooledGit } from './process/pooled-git.ts'
export { noteReplacedWork, pruneReplacedWork } from './mirror/replaced-work.ts'
export { bundleWork, keepWork, listKeptWork } from './mirror/kept-work.ts'
export {
  dropRoots,
  followReplica,
  fillReplica,
  incompleteCommits,
  keepFromFolder,
  keepReplicaPack,
  keepRoots,
  listAllRefs,
  markReplica,
  packForReplica,
  packPaths,
  packUnpacked,
  readReplicaMark,
  removeReplicaMark,
  type ReplicaMark,
  sweepReplica,
  tidyReplica,
} from './mirror/replica.ts'
export { notedKeptRefs } from './refs/kept-refs.ts'
export { filesOfCommit, keepReplicaFiles, packsOfPush, type StoreFile, writeFiles } from './mirror/replica-files.ts'
export { objectFormat, type ObjectFormat } from './process/object-format.ts'
export {
  dropKeptRef,
  isAncestor,
  keepCommits,
  keepRef,
  keptCommitRefs,
  keptRefName,
  mergeBase,
  putRefs,
  readRefValue,
} from './refs/refs.ts'
export { previewMerge, type MergePreview } from './merge/preview.ts'
export { changedFiles, diffCommits, streamPatch, type Diff } from './diff/diff.ts'
export { diffSince } from './diff/diff-since.ts'
export { movedBlocks } from './diff/moved-code.ts'
export { changedLines, type ChangedLines } from './diff/changed-lines.ts'
export { moveLines } from './diff/move-lines.ts'
export { readTexts } from './diff/read-texts.ts'
export { landMerge, planMerge, type MergeInput, type MergePlan, type PlanOptions } from './merge/merge.ts'
export { type EditedCommit, editLines, type EditRefusal, type LineEdit } from './merge/edit-lines.ts'
export { createBranch } from './hosts/branch.ts'
export { deleteBranches, type DeleteBranchOutcome } from './hosts/delete-branches.ts'
export { scanAddedText } from './diff/added-text.ts'
export { commitFilesOnBranch, isFilePath } from './hosts/commit-files.ts'
export { branchRules, openPullRequest, readPullRequest } from './hosts/pull-request.ts'
export { gitHubRepository } from './hosts/github-api.ts'
export { makeGitHubApp, type AppTokenOutcome, type GitHubApp } from './hosts/github-app.ts'
export { blameFile, type BlameCommit, type BlameOutcome, type BlameRange } from './diff/blame.ts'
export { listHistory } from './diff/file-history.ts'
export { listPaths, searchText } from './diff/search.ts'
export { findCollisions } from './merge/collisions.ts'
export { gitVersion, replayMerge, treeOf } from './merge/replay.ts'
export {
  countApart,
  countBeyond,
  firstParents,
  isContained,
  listCommits,
  listTree,
  readFileAt,
  streamFile,
  type FileOutcome,
  type TreeEntry,
} from './diff/browse.ts'
export { allowOnlyBranch, type PushGate, type PushInspector } from './receive/gate.ts'
export { type GitRequest, serveGitRequest } from './serve/smart-http.ts'
export { serveGateway } from './serve/gateway.ts'
