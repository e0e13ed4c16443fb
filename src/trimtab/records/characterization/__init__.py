"""What characterized runs say of parameters, for whoever reads them."""
