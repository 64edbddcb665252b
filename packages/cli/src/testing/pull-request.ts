/** A base branch that the git host protects, and an open pull request. */
export const pullRequestAnswers = {
  getPullRequest: () => ({ protection: null, can_open: false, pull_request: null }),
  openPullRequest: () => ({
    protection: null,
    can_open: true,
    pull_request: {
      number: 12,
      url: 'https://git.example.com/team/app/pull/12',
      created_at: '2026-11-21T12:00:00.000Z',
    },
  }),
}
