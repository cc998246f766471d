package output

// Docs is where the documentation is read: a user on call has no checkout of this
// repository.
const Docs = "https://github.com/critical-service/operator/blob/main/docs/"
