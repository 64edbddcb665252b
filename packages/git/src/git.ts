export class GitError extends Error {}
