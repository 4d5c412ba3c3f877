passes "it is shown" true
